package cli

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// process is the program in a separate process, for tests of signals.
type process struct {
	*service
	cmd *exec.Cmd
}

// command returns the program, to be started.
func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), cmp.Or(p.file, os.Args[0]), args...)
	cmd.Env = os.Environ()
	if p.file == "" {
		cmd.Env = append(cmd.Env, beMain+"=yes", beSchema+"="+p.schema)
	}
	for name, value := range p.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// start starts `serve` and waits until it listens.
func (p program) start(args ...string) *process {
	p.tb.Helper()
	s := &process{service: &service{
		tb: p.tb, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: answerMax},
		ended: make(chan error, 1),
	}}
	s.cmd = p.command(p.serving(args...)...)
	if p.wrap != nil {
		s.cmd = p.wrap(s.cmd)
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	require.NoError(p.tb, s.cmd.Start())
	p.tb.Cleanup(func() {
		_ = s.cmd.Process.Kill() // if it still runs
		s.client.CloseIdleConnections()
	})
	go func() { s.ended <- s.cmd.Wait() }()
	s.awaitListening(false)
	return s
}

// signal sends a signal and returns the exit code, -1 if the signal ended the process,
// and how long that took.
func (s *process) signal(sig os.Signal) (code int, took time.Duration) {
	s.tb.Helper()
	begun := time.Now()
	require.NoError(s.tb, s.cmd.Process.Signal(sig))
	select {
	case <-s.ended:
	case <-time.After(commandMax):
		require.Fail(s.tb, "the process did not end", "%v", sig)
	}
	s.client.CloseIdleConnections()
	return s.cmd.ProcessState.ExitCode(), time.Since(begun)
}

// insist repeats a signal until the process ends: two signals that arrive before the
// process has handled the first count as one.
func (s *process) insist(sig os.Signal) (code int) {
	s.tb.Helper()
	require.NoError(s.tb, s.cmd.Process.Signal(sig))
	for begun := time.Now(); time.Since(begun) < commandMax; {
		select {
		case <-s.ended:
			s.client.CloseIdleConnections()
			return s.cmd.ProcessState.ExitCode()
		case <-time.After(300 * time.Millisecond):
			_ = s.cmd.Process.Signal(sig) // it may have ended
		}
	}
	require.Fail(s.tb, "the process did not end", "%v", sig)
	return 0
}

func TestSignals(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		s := p.start()
		s.won("spring", "u1", "")
		code, took := s.signal(sig)
		require.Equal(t, exitOK, code, s.stderr.String())
		require.Less(t, took, stopMax)
	}

	url := stocktest.Migrated(t, "postgres")
	spring(t, url)
	proxy := servertest.StartProxy(t, url)
	s := on(t, proxy.URL()).start("--admin-token", "a-token-of-the-test")
	s.token = "a-token-of-the-test"
	s.won("spring", "u1", "")
	proxy.Hold()
	go s.draw("spring", "u1", "") // it waits for the database
	require.Eventually(t, func() bool {
		body, err := s.metrics()
		return err == nil && strings.Contains(body, "\ndrawsvc_queue_draws 1\n")
	}, commandMax, 10*time.Millisecond)
	require.Equal(t, -1, s.insist(syscall.SIGTERM), "a further one ended it")
}

// TestMainPrintsMessages tests the messages of main, and where they are printed.
func TestMainPrintsMessages(t *testing.T) {
	t.Parallel()
	p := program{tb: t}
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"frob"}, exitUsage, "drawsvc: unknown command \"frob\" for \"drawsvc\": try drawsvc --help\n"},
		{[]string{"audit", "--database", "sqlite:/no/such/file.db"}, exitFailure, "drawsvc: there is no database file /no/such/file.db"},
		{[]string{"version"}, exitOK, ""},
	} {
		cmd := p.command(c.args...)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		said, err := io.ReadAll(stderr)
		require.NoError(t, err)
		_ = cmd.Wait() // the exit code is checked below
		require.Equal(t, c.code, cmd.ProcessState.ExitCode())
		require.Contains(t, string(said), c.stderr)
		if c.stderr == "" {
			require.Empty(t, said)
		}
	}
}

// TestKilled: repeated crashes lose nothing that was acknowledged.
func TestKilled(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000", "--prize", "id=tin,stock=100000")
	answers := map[string]string{}
	for round := range 5 {
		s := p.start("--log-level", "info")
		for key, body := range answers {
			first, _ := parseDraw(t, body)
			again, replayed := s.won("spring", "u1", key)
			require.True(t, replayed)
			require.Equal(t, first, again)
		}
		c := crowd{round: round}
		c.drawFrom(s.service, 16)
		require.Eventually(t, func() bool { return c.wins() >= 100 }, commandMax, 2*time.Millisecond)
		code, _ := s.signal(syscall.SIGKILL)
		require.Equal(t, -1, code)
		c.under.Wait()
		require.Empty(t, c.refused)
		for key, body := range c.won {
			answers[key] = body
		}
		require.Contains(t, p.ok("audit"), "0 violations")
	}
	db := rows(t, p.vars["DRAWSVC_DATABASE"])
	var verdict string
	require.NoError(t, db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict))
	require.Equal(t, "ok", verdict)
}
