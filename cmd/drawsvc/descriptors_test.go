//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

func TestConnectionsDefault(t *testing.T) {
	t.Parallel()
	for limit, want := range map[uint64]int{0: 8192, 1 << 40: 8192, 1_000_000: 8192, 8320: 8192, 1024: 896, 200: 100, 128: 64, 1: 1} {
		require.Equal(t, want, connectionsDefault(limit), limit)
	}
	p := on(t, stocktest.URL(t, "sqlite"))
	p.refused(exitUsage, "--connections-max must be 1 to", "serve", "--connections-max", "-1")
	c := config{connections: 500}
	require.ErrorContains(t, c.readConnections(400), "must be below the limit of open files, which is 400")
	require.NoError(t, c.readConnections(0))
}

// withDescriptors limits the descriptors of a command, and of what it starts.
func withDescriptors(cmd *exec.Cmd, limit int) *exec.Cmd {
	limited := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, limit), "sh"}, cmd.Args...)...)
	limited.Env = cmd.Env
	return limited
}

// TestFewDescriptors: more idle callers than the process can have descriptors do
// not keep a health check out, nor a draw.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	const limit, callers = 128, 200
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	p.wrap = func(cmd *exec.Cmd) *exec.Cmd { return withDescriptors(cmd, limit) }
	s := p.start()
	require.Contains(t, s.stderr.String(), `"limit":128,"connections_max":64`)
	for range callers {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(commandMax)))
		_, err = fmt.Fprint(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	status, _, err := s.ask("GET", "/livez", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	s.becomesReady()
	s.won("spring", "u1", "")
	code, _ := s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code)
	require.NotContains(t, s.stderr.String(), "too many open files")
	require.Contains(t, s.stderr.String(), "the most connections are open")
}
