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

// manager is the socket of a service manager, which receives its messages in order.
type manager struct {
	tb   testing.TB
	conn *net.UnixConn
	path string
}

func newManager(tb testing.TB) *manager {
	tb.Helper()
	folder, err := os.MkdirTemp("", "notify") // the path of a socket must be short
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

// heard returns the next message, or "" if none arrives in time.
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

// TestServiceManagerIsNotified: READY=1 is sent when the service answers, and not
// earlier. STOPPING=1 is sent with the maximum time of the shutdown.
func TestServiceManagerIsNotified(t *testing.T) {
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

// TestServiceManagerIsNotNotifiedEarly: a service that cannot work never sends READY=1.
func TestServiceManagerIsNotNotifiedEarly(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	p := program{tb: t, vars: map[string]string{"NOTIFY_SOCKET": m.path, "DRAWSVC_DATABASE": "sqlite:" + t.TempDir()}}
	output, err := p.command("serve", "--listen", "127.0.0.1:0").CombinedOutput()
	require.Error(t, err, "%s", output)
	require.Empty(t, m.heard(time.Millisecond))
}
