package stock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestDrawsDoNotWaitForCopy: another transaction, which creates a pool with the same id,
// blocks a copy halfway. Draws from the source continue. SQLite is left out, because it
// has only one writer.
func TestDrawsDoNotWaitForCopy(t *testing.T) {
	t.Parallel()
	for dialect, waiting := range map[string]string{
		"postgres": `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO pools%'`,
		"mysql":    `SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'INSERT INTO pools%'`,
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.Open(t, stocktest.URL(t, dialect), stock.Options{LockWait: 20 * time.Second})
			stocktest.Pool(t, s, "p", 100)
			stocktest.Pool(t, s, "like", 1)
			stocktest.PlanAll(t, s, "p", stocktest.StateAt(s.Now().Add(time.Hour), draw.StatePaused))
			other, err := s.LockDB().BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer func() { _ = other.Rollback() }()
			_, err = other.ExecContext(t.Context(), `INSERT INTO pools (id, name, state, version, mark, created_at) SELECT 'q', name, state, version, mark, created_at FROM pools WHERE id = 'like'`)
			require.NoError(t, err)
			copied := make(chan error, 1)
			go func() {
				_, _, err := s.CopyPool(context.WithoutCancel(t.Context()), "p", draw.PoolCopy{ID: "q", Name: "Q", Days: new(1)}, "anna")
				copied <- err
			}()
			require.Eventually(t, func() bool {
				var n int
				return s.LockDB().QueryRowContext(t.Context(), waiting).Scan(&n) == nil && n > 0
			}, waitMax, tick/10)
			p, err := s.Pool(t.Context(), "p")
			require.NoError(t, err)
			require.NoError(t, drawOnce(t.Context(), s, stocktest.Plan("p", p.Version, "a", 0, "k")), "a draw waits for the copy")
			require.Empty(t, copied, "the copy is still held")
			require.NoError(t, other.Rollback())
			require.NoError(t, <-copied)
			stocktest.NoViolations(t, s, "q")
		})
	}
}

// TestCopyAnswersWithoutReadAfterCommit: after a copy is committed, its answer contains
// the salts, which are stored nowhere, even if nothing can be read any more.
func TestCopyAnswersWithoutReadAfterCommit(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := stocktest.Open(t, stocktest.URL(t, dialect), stock.Options{Changed: func(poolID string) {
				if poolID == "q" {
					cancel()
				}
			}})
			stocktest.Pool(t, s, "p", 100)
			noon := s.Now().Add(24 * time.Hour)
			_, err := s.PlanItems(ctx, "p", []draw.Item{stocktest.StockAt(noon, "a", 3)}, "salt", "ben")
			require.NoError(t, err)
			q, planned, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "q", Name: "Q", Days: new(1)}, "anna")
			require.NoError(t, err)
			require.Error(t, ctx.Err())
			require.Len(t, planned, 1)
			require.NotEmpty(t, planned[0].Seal.Salt)
			stored, err := s.Pool(t.Context(), "q")
			require.NoError(t, err)
			require.Equal(t, stored, q)
		})
	}
}
