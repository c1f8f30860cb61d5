package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"drawsvc/loadtest/site"
)

const (
	// startMax is the longest that a program may take until it is ready.
	startMax = 20 * time.Second
	// stopMax is the longest that a program may take after SIGTERM.
	stopMax = 15 * time.Second

	adminToken = "matrix-admin-token"
	drawToken  = "matrix-draw-token"
)

// instance is one running program.
type instance struct {
	url    string
	cmd    *exec.Cmd
	output *site.Tail
	ended  chan error
}

// tailMax is how much of a program's output is kept, in bytes.
const tailMax = 4 << 10

// start runs a program and returns when it answers. It is killed when the site
// ends, unless it was stopped before.
func start(ctx context.Context, s *site.Site, program string, args ...string) (*instance, error) {
	i := &instance{output: site.NewTail(tailMax), ended: make(chan error, 1)}
	i.cmd = exec.CommandContext(ctx, filepath.Join(bin, program), args...)
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.cmd.Env = append(os.Environ(), "DRAWSVC_ADMIN_TOKEN="+adminToken, "DRAWSVC_DRAW_TOKEN="+drawToken)
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { i.ended <- i.cmd.Wait() }()
	s.Cleanup(func() { _ = i.cmd.Process.Kill() })
	select {
	case address := <-i.output.Address:
		i.url = "http://" + address
	case err := <-i.ended:
		return nil, fmt.Errorf("%s ended at once: %w\n%s", program, err, i.output)
	case <-time.After(startMax):
		return nil, fmt.Errorf("%s has logged no address for %v\n%s", program, startMax, i.output)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return i, i.awaitReady(ctx)
}

func (i *instance) awaitReady(ctx context.Context) error {
	for until := time.Now().Add(startMax); ; time.Sleep(20 * time.Millisecond) {
		err := fetch(ctx, i.url+"/readyz", new(map[string]any))
		if err == nil {
			return nil
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fmt.Errorf("%s is not ready after %v: %w\n%s", i.cmd.Path, startMax, err, i.output)
		}
	}
}

// stop ends the program in good order; one that does not end well is an error.
func (i *instance) stop() error {
	if err := i.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-i.ended:
		if err != nil {
			return fmt.Errorf("after SIGTERM: %w\n%s", err, i.output)
		}
		return nil
	case <-time.After(stopMax):
		return fmt.Errorf("it runs on %v after SIGTERM\n%s", stopMax, i.output)
	}
}
