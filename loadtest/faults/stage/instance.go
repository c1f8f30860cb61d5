package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/harness"
)

// Instance is one program, which may be started more than once. It comes back
// to its own address.
type Instance struct {
	Number  int
	Program string
	Args    []string
	// Env are variables of its own.
	Env     []string
	Address string
	// control arms a fault point, "" where the program has none.
	control string
	output  *harness.Tail
	// Process is the program that was started last.
	Process *harness.Process

	mu sync.Mutex
	// expected: its end was asked for.
	expected bool
	// halts are the times at which it was kept from answering.
	halts []span
}

// span is a stretch of time; to is zero while it lasts.
type span struct{ from, to time.Time }

// URL is the address that clients use.
func (i *Instance) URL() string { return "http://" + i.Address }

// start starts the program; it does not wait until it answers.
func (i *Instance) start() (err error) {
	env := i.Env
	if i.control != "" { // to the others it is a variable that they do not know
		env = append([]string{"DRAWSVC_FAULTS=" + i.control}, env...)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.Process, err = harness.Start(i.output, env, filepath.Join(Bin, i.Program), i.Args...); err != nil {
		return err
	}
	i.Process.URL, i.expected = i.URL(), false
	return nil
}

// awaitReady waits until the program says that it would draw.
func (i *Instance) awaitReady(ctx context.Context) error {
	if err := i.Process.AwaitReady(ctx); err != nil {
		return fmt.Errorf("instance %d: %w", i.Number, err)
	}
	return nil
}

// IsReady asks the program once whether it would draw.
func (i *Instance) IsReady(ctx context.Context) error {
	_, err := harness.Fetch(ctx, i.URL()+"/readyz")
	return err
}

// Signal sends a signal to the program alone.
func (i *Instance) Signal(s syscall.Signal) { i.Process.Signal(s) }

// Kill ends the program at once, and waits for its end.
func (i *Instance) Kill() {
	i.Expect()
	i.Process.Kill()
}

// Expect notes that the program's end is wanted, and that it will not answer.
func (i *Instance) Expect() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expected = true
	i.halts = append(i.halts, span{from: time.Now()})
}

// Again starts a program that has ended, and waits until it is ready.
func (i *Instance) Again(ctx context.Context) error {
	if err := i.start(); err != nil {
		return err
	}
	i.Answers()
	return i.awaitReady(ctx)
}

// Answers notes that the program is not kept from answering any more.
func (i *Instance) Answers() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.halts); n > 0 && i.halts[n-1].to.IsZero() {
		i.halts[n-1].to = time.Now()
	}
}

// Halted says whether the program was kept from answering in that time.
func (i *Instance) Halted(from, to time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.halts {
		if h.from.Before(to) && (h.to.IsZero() || from.Before(h.to)) {
			return true
		}
	}
	return false
}

// died says whether the program ended though nobody wanted it to, and how.
func (i *Instance) died() (bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.expected {
		return false, nil
	}
	return i.Process.Ended()
}

// Stop ends the program in good order; one that does not end well is an error.
func (i *Instance) Stop() error {
	i.Expect()
	if err := i.Process.Stop(); err != nil {
		return fmt.Errorf("instance %d: %w", i.Number, err)
	}
	return nil
}

// takenMax is the longest that a draw may take to come to an armed point.
const takenMax = 10 * time.Second

// Arm makes something happen at the next draw that comes to the point.
func (i *Instance) Arm(p fault.Point, action string) error {
	_ = os.Remove(i.control + ".taken") // was not there the first time
	return Replace(i.control, string(p)+" "+action+"\n", 0o600)
}

// AwaitTaken waits until a draw has come to the armed point.
func (i *Instance) AwaitTaken() error {
	for until := time.Now().Add(takenMax); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(i.control + ".taken"); err == nil {
			return nil
		}
	}
	_ = os.Remove(i.control)
	return fmt.Errorf("no draw came to the fault point of instance %d within %v", i.Number, takenMax)
}

// HaltAt stops the program at a fault point for some time.
func (i *Instance) HaltAt(p fault.Point, d time.Duration) error {
	i.mu.Lock()
	i.halts = append(i.halts, span{from: time.Now()})
	i.mu.Unlock()
	defer i.Answers()
	if err := i.Arm(p, "stop"); err != nil {
		return err
	}
	if err := i.AwaitTaken(); err != nil {
		return err
	}
	time.Sleep(d)
	i.Signal(syscall.SIGCONT)
	return nil
}

// Halt keeps the program from running until it gets SIGCONT.
func (i *Instance) Halt() {
	i.mu.Lock()
	i.halts = append(i.halts, span{from: time.Now()})
	i.mu.Unlock()
	i.Signal(syscall.SIGSTOP)
}
