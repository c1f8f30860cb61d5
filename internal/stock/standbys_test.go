package stock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestStandbysAreCounted: a standby that follows the primary is counted, and a stopped
// standby is not. The required number follows the settings.
func TestStandbysAreCounted(t *testing.T) {
	t.Parallel()
	primary := servertest.Start(t, "postgres", servertest.Durable())
	s, err := stock.Open(t.Context(), primary.URL(), stock.Options{})
	require.NoError(t, err)
	defer s.Close()
	read := func() stock.Standbys {
		found, err := s.ReadStandbys(t.Context())
		require.NoError(t, err)
		return found
	}
	require.Equal(t, stock.Standbys{}, read())
	standby := servertest.StartStandby(t, primary, primary.Addr(), "standby")
	require.Eventually(t, func() bool { return read() == stock.Standbys{Connected: 1} }, time.Minute, 50*time.Millisecond)
	stocktest.ExecAll(t, s, []string{`ALTER SYSTEM SET synchronous_standby_names = 'FIRST 2 (standby, other)'`, `SELECT pg_reload_conf()`})
	require.Eventually(t, func() bool { return read() == stock.Standbys{Connected: 1, Required: 2} }, time.Minute, 50*time.Millisecond)
	standby.Kill()
	require.Eventually(t, func() bool { return read() == stock.Standbys{Required: 2} }, time.Minute, 50*time.Millisecond)

	for _, dialect := range []string{"sqlite", "mysql"} {
		found, err := stocktest.New(t, dialect).ReadStandbys(t.Context())
		require.NoError(t, err)
		require.Equal(t, stock.Standbys{}, found, dialect)
	}
}
