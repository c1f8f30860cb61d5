package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"drawsvc/loadtest/harness"
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
	output  *harness.Tail
	// process is the program that was started last.
	process *harness.Process

	mu sync.Mutex
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
func (i *instance) start() (err error) {
	env := i.env
	if i.program == faulty { // to the others it is a variable that they do not know
		env = append([]string{"DRAWSVC_FAULTS=" + i.control}, env...)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.process, err = harness.Start(i.output, env, filepath.Join(bin, i.program), i.args...); err != nil {
		return err
	}
	i.process.URL, i.expected = i.url(), false
	return nil
}

// awaitReady waits until the program says that it would draw.
func (i *instance) awaitReady(ctx context.Context) error {
	if err := i.process.AwaitReady(ctx); err != nil {
		return fmt.Errorf("instance %d: %w", i.number, err)
	}
	return nil
}

// isReady asks the program once whether it would draw.
func (i *instance) isReady(ctx context.Context) error {
	_, err := harness.Fetch(ctx, i.url()+"/readyz")
	return err
}

// signal sends a signal to the program alone.
func (i *instance) signal(s syscall.Signal) { i.process.Signal(s) }

// kill ends the program at once, and waits for its end.
func (i *instance) kill() {
	i.expect()
	i.process.Kill()
}

// expect notes that the program's end is wanted, and that it will not answer.
func (i *instance) expect() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expected = true
	i.halts = append(i.halts, span{from: time.Now()})
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
	return i.process.Ended()
}

// stop ends the program in good order; one that does not end well is an error.
func (i *instance) stop() error {
	i.expect()
	if err := i.process.Stop(); err != nil {
		return fmt.Errorf("instance %d: %w", i.number, err)
	}
	return nil
}
