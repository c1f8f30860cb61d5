package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/procfs"

	"drawsvc/loadtest/adminpage"
	"drawsvc/loadtest/harness"
)

// everyMinute returns the calls that an open page of the large pool makes each minute,
// in addition to the stream. Pages of releases without codes make none.
func everyMinute(s settings) []adminpage.Call {
	if s.old {
		return nil
	}
	return []adminpage.Call{{Path: "/admin/jobs"}, {Path: "/admin/pools/" + pool}}
}

// idle prints the CPU that the service uses without callers, and with one open page: a
// listener of the event stream, and the page's calls. The unit is a part of a core. It
// also prints the size and number of the frames.
func idle(ctx context.Context, service *harness.Process, s settings, out io.Writer) error {
	alone, err := cpu(service, s.idle)
	if err != nil {
		return err
	}
	heard, end := context.WithCancel(ctx)
	defer end()
	frames, bytes, done := 0, 0, make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(heard, http.MethodGet, service.URL+"/admin/events", http.NoBody)
		if err != nil {
			done <- err
			return
		}
		request.Header.Set("Authorization", "Bearer "+harness.AdminToken)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			done <- err
			return
		}
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewReader(response.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				done <- nil // the listener has disconnected
				return
			}
			if len(line) > 1 {
				frames, bytes = frames+1, bytes+len(line)
			}
		}
	}()
	called := make(chan error, 1)
	go func() { called <- callEachMinute(heard, service.URL, everyMinute(s)) }()
	listened, err := cpu(service, s.idle)
	end()
	if err := errors.Join(<-done, <-called); err != nil {
		return err
	}
	harness.Say(out, "\nstream: %d frames of %d kB in %.0f s; CPU of the service %.3f of a core, without it %.3f\n",
		frames, bytes/max(1, frames)/1000, s.idle.Seconds(), listened, alone)
	return err
}

// callEachMinute makes calls at once and each minute, until the context ends.
func callEachMinute(ctx context.Context, at string, calls []adminpage.Call) error {
	ticks := time.NewTicker(time.Minute)
	defer ticks.Stop()
	for {
		for _, c := range calls {
			if _, _, err := c.Once(ctx, at); err != nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// cpu returns the CPU that a program uses for a time, as a part of a core.
func cpu(p *harness.Process, during time.Duration) (float64, error) {
	proc, err := procfs.NewProc(p.PID())
	if err != nil {
		return 0, err
	}
	before, err := proc.Stat()
	if err != nil {
		return 0, err
	}
	time.Sleep(during)
	after, err := proc.Stat()
	return (after.CPUTime() - before.CPUTime()) / during.Seconds(), err
}
