package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// StartMax is the maximum time until a program is ready.
	StartMax = time.Minute
	// StopMax is the maximum time until a program exits after SIGTERM.
	StopMax = 15 * time.Second
	// tailMax is how much of a program's output is kept, in bytes.
	tailMax = 16 << 10
)

// Process is one running program in its own process group; it ends with this program.
type Process struct {
	// URL is the address that it listens on; Launch sets it.
	URL string
	// Output is the end of its output.
	Output *Tail

	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended; read once ended is closed
}

// Start starts a program with the tokens of the load tests and further variables. It
// does not wait until the program answers. If output is nil, a new one is created.
func Start(output *Tail, env []string, program string, args ...string) (*Process, error) {
	if output == nil {
		output = NewTail(tailMax)
	}
	p := &Process{Output: output, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.Env = append(append(os.Environ(), "DRAWSVC_ADMIN_TOKEN="+AdminToken, "DRAWSVC_DRAW_TOKEN="+DrawToken), env...)
	p.cmd.SysProcAttr = ownGroup()
	started := make(chan error, 1)
	go func() {
		// The kernel sends the death signal when the thread that forked ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	return p, <-started
}

// Launch starts a program that picks its own address, and returns when it is
// ready. The process is killed when the site ends, unless it was stopped before.
func Launch(ctx context.Context, s *Site, program string, args ...string) (*Process, error) {
	p, err := Start(nil, nil, program, args...)
	if err != nil {
		return nil, err
	}
	s.Cleanup(p.Kill)
	select {
	case address := <-p.Output.Address:
		p.URL = "http://" + address
	case <-p.ended:
		return nil, p.endedAtOnce()
	case <-time.After(StartMax):
		return nil, fmt.Errorf("%s has logged no address for %v\n%s", program, StartMax, p.Output)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p, p.AwaitReady(ctx)
}

// LaunchAll launches a program several times.
func LaunchAll(ctx context.Context, s *Site, n int, program string, args ...string) ([]*Process, error) {
	all := make([]*Process, n)
	for k := range all {
		var err error
		if all[k], err = Launch(ctx, s, program, args...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// AwaitReady waits until the program at the URL reports that it is ready to draw.
func (p *Process) AwaitReady(ctx context.Context) error {
	for until := time.Now().Add(StartMax); ; time.Sleep(10 * time.Millisecond) {
		_, err := Fetch(ctx, p.URL+"/readyz")
		if err == nil {
			return nil
		}
		if ended, _ := p.Ended(); ended {
			return p.endedAtOnce()
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fmt.Errorf("%s is not ready after %v: %w\n%s", p.cmd.Path, StartMax, err, p.Output)
		}
	}
}

func (p *Process) endedAtOnce() error {
	return fmt.Errorf("%s ended at once: %w\n%s", p.cmd.Path, orNone(p.err), p.Output)
}

// orNone returns an error for a program that exited without one.
func orNone(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program only, unless it has ended.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Ended reports whether the program has ended, and how.
func (p *Process) Ended() (bool, error) {
	select {
	case <-p.ended:
		return true, p.err
	default:
		return false, nil
	}
}

// AwaitEnd returns how the program ended; it is an error if it does not end.
func (p *Process) AwaitEnd() error {
	select {
	case <-p.ended:
		return p.err
	case <-time.After(StopMax):
		return fmt.Errorf("it runs on after %v", StopMax)
	}
}

// Kill ends the program at once, and waits for its end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	_ = p.AwaitEnd() // how it ends is known
}

// Stop shuts the program down. It is an error if it does not exit cleanly, or had ended
// before.
func (p *Process) Stop() error {
	if ended, err := p.Ended(); ended {
		return fmt.Errorf("it had ended by itself: %w\n%s", orNone(err), p.Output)
	}
	p.Signal(syscall.SIGTERM)
	if err := p.AwaitEnd(); err != nil {
		return fmt.Errorf("after SIGTERM: %w\n%s", err, p.Output)
	}
	return nil
}

// StopAll shuts programs down.
func StopAll(all []*Process) (err error) {
	for _, p := range all {
		err = errors.Join(err, p.Stop())
	}
	return err
}

// Tail keeps the end of a program's output, and the address that it prints when it
// listens. It is safe for concurrent use.
type Tail struct {
	// Address receives the first printed address, once.
	Address <-chan string

	mu      sync.Mutex
	most    int
	text    []byte
	passed  bool
	address chan string
}

// NewTail returns a Tail that keeps at most the given number of bytes.
func NewTail(most int) *Tail {
	address := make(chan string, 1)
	return &Tail{Address: address, most: most, address: address}
}

func listening() *regexp.Regexp {
	return regexp.MustCompile(`(?i)listen[^\n]*?(127\.0\.0\.1:[1-9]\d*)`)
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if !t.passed && bytes.HasSuffix(t.text, []byte("\n")) {
		if m := listening().FindSubmatch(t.text); m != nil {
			t.passed = true
			t.address <- string(m[1])
		}
	}
	t.text = t.text[max(0, len(t.text)-t.most):]
	return len(p), nil
}

// String returns the kept text.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
