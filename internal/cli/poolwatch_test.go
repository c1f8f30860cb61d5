package cli

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// watched is a `pool show --watch` that runs in this process.
type watched struct {
	tb             testing.TB
	stdout, stderr text
	cancel         context.CancelFunc
	ended          chan error
}

func (p program) watch(args ...string) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watched{tb: p.tb, cancel: cancel, ended: make(chan error, 1)}
	go func() {
		w.ended <- run(ctx, append([]string{"pool", "show", "spring"}, args...), p.environment(&w.stdout, &w.stderr))
	}()
	p.tb.Cleanup(cancel)
	return w
}

// shows waits until it has printed part.
func (w *watched) shows(of *text, part string) {
	w.tb.Helper()
	require.Eventually(w.tb, func() bool { return strings.Contains(of.String(), part) }, commandMax, 10*time.Millisecond, part)
}

// code waits until the command has ended, and returns its exit code.
func (w *watched) code() int {
	w.tb.Helper()
	select {
	case err := <-w.ended:
		return exitCode(err)
	case <-time.After(commandMax):
		w.tb.Fatal("the watch does not end")
		return -1
	}
}

// TestPoolWatch: the pool is shown repeatedly, on a database and over HTTP, until it is
// closed or until Ctrl-C. A service that is unreachable for a while does not end the
// command.
func TestPoolWatch(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve()
	far := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.url, "DRAWSVC_TOKEN": s.token}}
	near, over, lines := p.watch("--watch=100ms"), far.watch("--watch=100ms"), far.watch("--watch=100ms", "--output", "json")
	near.shows(&near.stdout, "0 of 100 units issued\n")
	over.shows(&over.stdout, "0 of 100 units issued\n")
	lines.shows(&lines.stdout, `"version":3`)
	s.won("spring", "ann", "first")
	for _, w := range []*watched{near, over} {
		w.shows(&w.stdout, "1 of 100 units issued, 1 since the line before\n")
		w.shows(&w.stdout, "1 of 100 units issued, 0 since the line before\n")
		require.NotContains(t, w.stdout.String(), "\x1b", "this is no terminal")
	}
	ended := far.watch("--watch")
	ended.shows(&ended.stdout, "1 of 100 units")
	ended.cancel()
	require.Equal(t, exitOK, ended.code())
	far.ok("pool", "close", "spring")
	for _, w := range []*watched{near, over, lines} {
		require.Equal(t, exitOK, w.code(), "a closed pool ends it")
		require.Contains(t, w.stdout.String(), "closed")
		require.Empty(t, unhurried(w.stderr.String()))
	}
	for line := range strings.Lines(strings.TrimSpace(lines.stdout.String())) {
		members(t, line)
	}
	require.Contains(t, p.ok("pool", "show", "spring", "--watch=1h"), "closed", "at once")
}

// TestPoolWatchGoesOn: an unreachable service does not end a watch; the deletion of the
// pool does.
func TestPoolWatchGoesOn(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve()
	far := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.url, "DRAWSVC_TOKEN": s.token}}
	w, other := far.watch("--watch=100ms"), far.watch("--watch=100ms")
	w.shows(&w.stdout, "0 of 100 units")
	other.shows(&other.stdout, "0 of 100 units")
	far.ok("pool", "delete", "spring")
	require.Equal(t, exitFailure, other.code())
	require.Equal(t, exitFailure, w.code())
	far.ok("pool", "create", "spring")
	w = far.watch("--watch=100ms")
	w.shows(&w.stdout, "0 of 0 units")
	require.Equal(t, exitOK, s.end().code)
	w.shows(&w.stderr, "the service cannot be reached")
	before := len(w.stderr.String())
	require.Eventually(t, func() bool { return len(w.stderr.String()) > before }, commandMax, 10*time.Millisecond, "it tries again")
	w.cancel()
	require.Equal(t, exitOK, w.code())
	for _, every := range []string{"0s", "-1s", "1ms", "2h", "soon"} {
		p.refused(exitUsage, "must be a time such as 2s, from 100ms to 1h0m0s", "pool", "show", "spring", "--watch="+every)
	}
}

// TestPoolWatchInterrupted: Ctrl-C ends the process with exit code 0.
func TestPoolWatchInterrupted(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	cmd := p.command("pool", "show", "spring", "--watch")
	var out text
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it still runs
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "units issued") }, commandMax, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait())
}
