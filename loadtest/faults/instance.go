package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/site"
)

const (
	// startMax is the longest that a program may take until it is ready.
	startMax = 20 * time.Second
	// stopMax is the longest that a program may take after SIGTERM.
	stopMax = 15 * time.Second
	// tailMax is how much of a program's output is kept, in bytes.
	tailMax = 16 << 10

	adminToken = "faults-admin-token"
	drawToken  = "faults-draw-token"
)

// instance is one program, which may be started more than once. It comes back
// to its own address.
type instance struct {
	number  int
	program string
	args    []string
	env     []string
	address string
	// control arms a fault point, where the program has any.
	control string
	output  *site.Tail

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan error
	// expected: its end was asked for.
	expected bool
	// halts are the times at which it was kept from answering.
	halts []span
}

// span is a stretch of time; to is zero while it lasts.
type span struct{ from, to time.Time }

// url is the address that clients use.
func (i *instance) url() string { return "http://" + i.address }

// start starts the program; it does not wait until it answers.
func (i *instance) start() error {
	cmd := exec.Command(filepath.Join(bin, i.program), i.args...)
	cmd.Stdout, cmd.Stderr = i.output, i.output
	cmd.Env = append(os.Environ(), "DRAWSVC_ADMIN_TOKEN="+adminToken, "DRAWSVC_DRAW_TOKEN="+drawToken)
	if i.program == faulty { // to the others it is a variable that they do not know
		cmd.Env = append(cmd.Env, "DRAWSVC_FAULTS="+i.control)
	}
	cmd.Env = append(cmd.Env, i.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel sends the death signal when the thread that forked ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cmd, i.ended, i.expected = cmd, ended, false
	return nil
}

// awaitReady waits until the program says that it would draw.
func (i *instance) awaitReady(ctx context.Context) error {
	for until := time.Now().Add(startMax); ; time.Sleep(10 * time.Millisecond) {
		err := fetch(ctx, i.url()+"/readyz", nil)
		if err == nil {
			return nil
		}
		select {
		case ended := <-i.ended:
			i.ended <- ended
			return fmt.Errorf("instance %d ended at once: %w\n%s", i.number, ended, i.output)
		default:
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fmt.Errorf("instance %d is not ready after %v: %w\n%s", i.number, startMax, err, i.output)
		}
	}
}

// signal sends a signal to the program alone.
func (i *instance) signal(s syscall.Signal) { _ = i.cmd.Process.Signal(s) }

// kill ends the program at once, and waits for its end.
func (i *instance) kill() {
	i.expect()
	i.signal(syscall.SIGKILL)
	_ = i.awaitEnd() // how it ends is known
}

// expect notes that the program's end is wanted, and that it will not answer.
func (i *instance) expect() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expected = true
	i.halts = append(i.halts, span{from: time.Now()})
}

// awaitEnd returns how the program ended; that it has not in time is an error
// too.
func (i *instance) awaitEnd() error {
	select {
	case err := <-i.ended:
		i.ended <- err
		return err
	case <-time.After(stopMax):
		return errors.New("it runs on")
	}
}

// again starts a program that has ended, and waits until it is ready.
func (i *instance) again(ctx context.Context) error {
	if err := i.start(); err != nil {
		return err
	}
	i.answers()
	return i.awaitReady(ctx)
}

// answers notes that the program is not kept from answering any more.
func (i *instance) answers() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.halts); n > 0 && i.halts[n-1].to.IsZero() {
		i.halts[n-1].to = time.Now()
	}
}

// halted says whether the program was kept from answering in that time.
func (i *instance) halted(from, to time.Time) bool {
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
func (i *instance) died() (bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.expected {
		return false, nil
	}
	select {
	case err := <-i.ended:
		i.ended <- err
		return true, err
	default:
		return false, nil
	}
}

// arm makes something happen at the next draw that comes to the point.
func (i *instance) arm(p fault.Point, action string) error {
	_ = os.Remove(i.control + ".taken") // was not there the first time
	if err := os.WriteFile(i.control+".new", []byte(string(p)+" "+action+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(i.control+".new", i.control)
}

// awaitTaken waits until a draw has come to the armed point.
func (i *instance) awaitTaken() error {
	for until := time.Now().Add(takenMax); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(i.control + ".taken"); err == nil {
			return nil
		}
	}
	_ = os.Remove(i.control)
	return fmt.Errorf("no draw came to the fault point of instance %d within %v", i.number, takenMax)
}

// stop ends the program in good order; one that does not end well is an error.
func (i *instance) stop() error {
	i.expect()
	i.signal(syscall.SIGTERM)
	err := i.awaitEnd()
	if err != nil {
		return fmt.Errorf("instance %d after SIGTERM: %w", i.number, err)
	}
	return nil
}

// fetch reads as an operator. Anything but 200 is an error.
func fetch(ctx context.Context, url string, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	request.Close = true // no connection of the observer stays
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Path, response.Status)
	}
	if read == nil {
		return nil
	}
	return read(response)
}
