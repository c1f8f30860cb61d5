package cli

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// manager is the socket of a service manager: what it heard, in order.
type manager struct {
	tb   testing.TB
	conn *net.UnixConn
	path string
}

func newManager(tb testing.TB) *manager {
	tb.Helper()
	folder, err := os.MkdirTemp("", "notify") // a socket's path is short
	require.NoError(tb, err)
	path := filepath.Join(folder, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		conn.Close()
		_ = os.RemoveAll(folder) // the folder for temporary files is emptied anyway
	})
	return &manager{tb, conn, path}
}

// heard is the next message, or "" when none comes in time.
func (m *manager) heard(within time.Duration) string {
	m.tb.Helper()
	require.NoError(m.tb, m.conn.SetReadDeadline(time.Now().Add(within)))
	message := make([]byte, 1000)
	n, err := m.conn.Read(message)
	if err != nil {
		require.ErrorIs(m.tb, err, os.ErrDeadlineExceeded)
	}
	return string(message[:n])
}

// TestServiceManagerIsTold: READY=1 when the service answers and not before, and
// STOPPING=1 with the time that this may take when it is to end.
func TestServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	p := program{tb: t, vars: map[string]string{"NOTIFY_SOCKET": m.path, "DRAWSVC_DATABASE": stocktest.Migrated(t, "sqlite")}}
	s := p.start("--shutdown-delay", "100ms")
	require.Equal(t, "READY=1", m.heard(commandMax))
	status, _, err := s.ask("GET", "/livez", "")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	s.becomesReady()

	code, _ := s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code)
	require.Equal(t, "STOPPING=1\nEXTEND_TIMEOUT_USEC=16100000", m.heard(commandMax))
	require.Empty(t, m.heard(time.Millisecond), "each is said once")
}

// TestServiceManagerIsNotToldEarly: a service that cannot work never says READY=1.
func TestServiceManagerIsNotToldEarly(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	p := program{tb: t, vars: map[string]string{"NOTIFY_SOCKET": m.path, "DRAWSVC_DATABASE": "sqlite:" + t.TempDir()}}
	output, err := p.command("serve", "--listen", "127.0.0.1:0").CombinedOutput()
	require.Error(t, err, "%s", output)
	require.Empty(t, m.heard(time.Millisecond))
}
