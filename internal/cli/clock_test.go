package cli

import (
	"os"
	"path/filepath"
	"testing"

	"drawsvc/internal/stock/stocktest"

	"github.com/stretchr/testify/require"
)

// TestClockAccept: after the command, the service uses the clock as it is.
func TestClockAccept(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.refused(exitUsage, "clock accept asks a service", "clock", "accept")
	s := p.serve()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.token), 0o600))
	require.Equal(t, "the database's clock had not leapt\n", program{tb: t}.ok("clock", "accept", "--server", s.url, "--token-file", token))
	s.admin(400, "POST", "/admin/clock", `{"accept":false}`)
}
