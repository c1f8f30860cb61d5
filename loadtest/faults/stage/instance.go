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

// Instance is one program, which may be started more than once, always at the same
// address.
type Instance struct {
	Number  int
	Program string
	Args    []string
	// Env are variables of this instance only.
	Env     []string
	Address string
	// Keys is its file of seal keys, "" for none.
	Keys string
	// control is the file that arms a fault point, "" if the program has none.
	control string
	output  *harness.Tail
	// Process is the program as it was last started.
	Process *harness.Process

	mu sync.Mutex
	// expected means that the experiment ended the program.
	expected bool
	// halts are the times during which the program could not answer.
	halts []span
}

// span is a period of time; to is zero while it lasts.
type span struct{ from, to time.Time }

// URL is the address that clients use.
func (i *Instance) URL() string { return "http://" + i.Address }

// start starts the program; it does not wait until it answers.
func (i *Instance) start() (err error) {
	env := i.Env
	if i.control != "" { // other programs do not know the variable
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

// awaitReady waits until the program reports that it is ready to draw.
func (i *Instance) awaitReady(ctx context.Context) error {
	if err := i.Process.AwaitReady(ctx); err != nil {
		return fmt.Errorf("instance %d: %w", i.Number, err)
	}
	return nil
}

// IsReady asks the program once whether it is ready to draw.
func (i *Instance) IsReady(ctx context.Context) error {
	_, err := harness.Fetch(ctx, i.URL()+"/readyz")
	return err
}

// Signal sends a signal to the program only.
func (i *Instance) Signal(s syscall.Signal) { i.Process.Signal(s) }

// Kill ends the program at once, and waits for its end.
func (i *Instance) Kill() {
	i.Expect()
	i.Process.Kill()
}

// Expect notes that the experiment ends the program, which will not answer.
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

// Answers notes that the program can answer again.
func (i *Instance) Answers() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.halts); n > 0 && i.halts[n-1].to.IsZero() {
		i.halts[n-1].to = time.Now()
	}
}

// Halted reports whether the program could not answer at some moment between from and
// to.
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

// died reports whether the program ended unexpectedly, and how.
func (i *Instance) died() (bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.expected {
		return false, nil
	}
	return i.Process.Ended()
}

// Stop shuts the program down; it is an error if the program does not exit cleanly.
func (i *Instance) Stop() error {
	i.Expect()
	if err := i.Process.Stop(); err != nil {
		return fmt.Errorf("instance %d: %w", i.Number, err)
	}
	return nil
}

// takenMax is the maximum time in which a draw must reach an armed point.
const takenMax = 10 * time.Second

// Arm sets the action that the next draw at the point triggers.
func (i *Instance) Arm(p fault.Point, action string) error {
	_ = os.Remove(i.control + ".taken") // the file does not exist the first time
	return Replace(i.control, string(p)+" "+action+"\n", 0o600)
}

// Disarm removes the fault that Arm set, unless it was triggered.
func (i *Instance) Disarm() { _ = os.Remove(i.control) }

// IsTaken reports whether the armed action was triggered.
func (i *Instance) IsTaken() bool {
	_, err := os.Stat(i.control + ".taken")
	return err == nil
}

// AwaitTaken waits until a draw has reached the armed point.
func (i *Instance) AwaitTaken() error {
	for until := time.Now().Add(takenMax); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if i.IsTaken() {
			return nil
		}
	}
	i.Disarm()
	return fmt.Errorf("no draw came to the fault point of instance %d within %v", i.Number, takenMax)
}

// HaltAt stops the program at a fault point for the given time.
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

// Halt stops the program until it gets SIGCONT.
func (i *Instance) Halt() {
	i.mu.Lock()
	i.halts = append(i.halts, span{from: time.Now()})
	i.mu.Unlock()
	i.Signal(syscall.SIGSTOP)
}
