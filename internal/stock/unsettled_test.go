package stock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestUnsettledIsNoDoubt: before a commit, the service writes a row in order to wait for
// the disk. If that row cannot be written, the commit is not sent. Then the change is not
// in doubt, and a read gets the usual error.
func TestUnsettledIsNoDoubt(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, stocktest.URL(t, "mysql"), stock.Options{})
	stocktest.Pool(t, s, "p", 10)
	urn := urn.NewUrn("p")
	tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.NoError(t, s.Write(t.Context(), stocktest.On(urn, stocktest.Plan("p", urn.Version, "a", 0, "first")), stock.TxOptions{}))
	item := stocktest.StateAt(s.Now().Add(time.Hour), draw.StatePaused)
	_, err = s.PlanItem(t.Context(), "p", item, "key", "test")
	require.NoError(t, err)
	stocktest.ExecAll(t, s, []string{`DROP TABLE lock_tokens`})

	paused := draw.StatePaused
	_, err = s.ChangePool(t.Context(), "p", draw.PoolChange{State: &paused}, "test")
	require.Equal(t, draw.CodeInternal, draw.CodeOf(err), "%v", err)
	pool, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, draw.StateOpen, pool.State)
	_, err = s.PlanItem(t.Context(), "p", item, "key", "test")
	require.Equal(t, draw.CodeInternal, draw.CodeOf(err), "what is there already, and may not be on the disk: %v", err)
	_, err = s.Draw(t.Context(), "p", "first")
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
}
