package lockertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"drawsvc/internal/draw"
)

// process is another process, in which locks of the same subject are open.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu     sync.Mutex
	out    *json.Encoder
	next   int
	holds  map[int]*held
	exited chan struct{}
}

// startProcess starts this test binary again as a process that holds locks.
func startProcess(s Subject) (*process, error) {
	spec, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childVariable+"="+string(spec))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, out: json.NewEncoder(stdin), holds: map[int]*held{}, exited: make(chan struct{})}
	go p.listen(stdout)
	return p, nil
}

// listen passes on the reports of the process until it ends.
func (p *process) listen(stdout io.Reader) {
	defer close(p.exited)
	defer func() { _ = p.cmd.Wait() }() // the suite has ended the process
	reports := json.NewDecoder(bufio.NewReader(stdout))
	for {
		var r report
		if reports.Decode(&r) != nil {
			return
		}
		p.mu.Lock()
		h := p.holds[r.ID]
		p.mu.Unlock()
		h.hear(r)
	}
}

func (p *process) tell(c command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(c) // if the process is dead, exited is closed
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop pauses the process until cont.
func (p *process) stop() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }

func (p *process) cont() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// held is a hold in another process, or a wait for one.
type held struct {
	process *process
	id      int
	token   int64
	at      time.Time // the time at which the lock was held

	heldC chan struct{}
	lostC chan struct{}
	doneC chan struct{}
	lost  time.Time
	done  report
}

func (h *held) hear(r report) {
	switch r.What {
	case "held":
		h.token, h.at = r.Token, time.Unix(0, r.At)
		close(h.heldC)
	case "lost":
		h.lost = time.Unix(0, r.At)
		close(h.lostC)
	case "done":
		h.done = r
		close(h.doneC)
	}
}

// ask begins to request key by one of the locks of the process.
func (p *process) ask(lock int, key string, wait time.Duration) *held {
	p.mu.Lock()
	p.next++
	h := &held{process: p, id: p.next, heldC: make(chan struct{}), lostC: make(chan struct{}), doneC: make(chan struct{})}
	p.holds[h.id] = h
	p.mu.Unlock()
	p.tell(command{ID: h.id, Do: "hold", Lock: lock, Key: key, Wait: wait})
	return h
}

// hold waits until key is held. An error is a *refusedError.
func (p *process) hold(lock int, key string, wait time.Duration) (*held, error) {
	h := p.ask(lock, key, wait)
	return h, h.await()
}

// await waits until the lock is held.
func (h *held) await() error {
	select {
	case <-h.heldC:
		return nil
	case <-h.doneC:
		return &refusedError{h.done}
	case <-h.process.exited:
		return fmt.Errorf("the process ended")
	}
}

// release ends the hold, and returns when WithLock has returned.
func (h *held) release() error {
	h.process.tell(command{ID: h.id, Do: "release"})
	return h.end()
}

func (h *held) end() error {
	select {
	case <-h.doneC:
	case <-h.process.exited:
		return fmt.Errorf("the process ended")
	}
	if h.done.Code != "" {
		return &refusedError{h.done}
	}
	return nil
}

// refusedError is an error of WithLock in another process.
type refusedError struct{ report }

// Error implements error.
func (e *refusedError) Error() string { return e.Code + ": " + e.Text }

// Unwrap returns an error with the same code.
func (e *refusedError) Unwrap() error { return &draw.Error{Code: draw.Code(e.Code)} }

// within waits for c, but no longer than limit.
func within(ctx context.Context, limit time.Duration, c <-chan struct{}, what string) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("%s: not within %v: %w", what, limit, errLate)
	}
}
