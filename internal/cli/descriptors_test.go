//go:build linux

package cli

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

// withDescriptors limits the descriptors of a command, and of its child processes.
func withDescriptors(cmd *exec.Cmd, limit int) *exec.Cmd {
	limited := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, limit), "sh"}, cmd.Args...)...)
	limited.Env = cmd.Env
	return limited
}

// TestFewDescriptors: if there are more idle callers than the process can have
// descriptors, they block neither a health check nor a draw.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	const limit, callers = 128, 200
	on(t, stocktest.URL(t, "sqlite")).refused(exitUsage, "--connections-max must be 1 to", "serve", "--connections-max", "-1")
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
