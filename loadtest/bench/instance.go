package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"drawsvc/loadtest/site"
)

const (
	// startMax is the longest that a program may take until it is ready.
	startMax = 20 * time.Second
	// stopMax is the longest that a program may take after SIGTERM.
	stopMax = 20 * time.Second

	adminToken = "bench-admin-token"
	drawToken  = "bench-draw-token"
)

// instance is one running program.
type instance struct {
	url    string
	pid    int
	output *site.Tail
	cmd    *exec.Cmd
	ended  chan struct{}
}

// tailMax is how much of a program's output is kept, in bytes.
const tailMax = 4 << 10

// start runs a program and returns when it answers. It is killed when the site
// or the context ends, unless it was stopped before.
func start(ctx context.Context, s *site.Site, program string, args ...string) (*instance, error) {
	i := &instance{output: site.NewTail(tailMax), ended: make(chan struct{})}
	i.cmd = exec.CommandContext(ctx, program, args...)
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.cmd.Env = append(os.Environ(), "DRAWSVC_ADMIN_TOKEN="+adminToken, "DRAWSVC_DRAW_TOKEN="+drawToken)
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	i.pid = i.cmd.Process.Pid
	go func() {
		defer close(i.ended)
		_ = i.cmd.Wait() // how it ended is asked by stop
	}()
	s.Cleanup(func() {
		_ = i.cmd.Process.Kill() // it may have ended
		<-i.ended
	})
	select {
	case address := <-i.output.Address:
		i.url = "http://" + address
	case <-i.ended:
		return nil, fmt.Errorf("%s ended at once\n%s", program, i.output)
	case <-time.After(startMax):
		return nil, fmt.Errorf("%s has logged no address for %v\n%s", program, startMax, i.output)
	}
	return i, i.awaitReady(ctx)
}

func (i *instance) awaitReady(ctx context.Context) error {
	for until := time.Now().Add(startMax); ; time.Sleep(10 * time.Millisecond) {
		if _, status, err := i.call(ctx, http.MethodGet, "/readyz", ""); err == nil && status == http.StatusOK {
			return nil
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fmt.Errorf("%s is not ready after %v\n%s", i.cmd.Path, startMax, i.output)
		}
	}
}

// stop ends the program in good order. The textbook's and the no-op handler
// end by the signal itself; the service has to end well.
func (i *instance) stop() error {
	if err := i.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("it had ended by itself: %w\n%s", err, i.output)
	}
	select {
	case <-i.ended:
	case <-time.After(stopMax):
		return fmt.Errorf("it runs on %v after SIGTERM\n%s", stopMax, i.output)
	}
	if code := i.cmd.ProcessState.ExitCode(); code > 0 {
		return fmt.Errorf("it ended with exit code %d\n%s", code, i.output)
	}
	return nil
}

// call asks the program, as an operator save for draws, with further headers
// as pairs, and returns the answer's body and status.
func (i *instance) call(ctx context.Context, method, path, body string, headers ...string) ([]byte, int, error) {
	request, err := http.NewRequestWithContext(ctx, method, i.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	if path == "/draw" {
		request.Header.Set("Authorization", "Bearer "+drawToken)
	}
	request.Header.Set("Content-Type", "application/json")
	for k := 0; k+1 < len(headers); k += 2 {
		request.Header.Set(headers[k], headers[k+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return text, response.StatusCode, err
}
