package stock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestReadOfLockedRowsIsUnavailable: a read fails with "the database does not answer" if
// another session keeps its rows locked. Only writers get "contended".
func TestReadOfLockedRowsIsUnavailable(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, stocktest.Migrated(t, "postgres")+"&lock_timeout=20ms", stock.Options{LockWait: 20 * time.Millisecond})
	stocktest.Pool(t, s, "p", 1)
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "d")))
	holder, err := s.LockDB().Conn(t.Context())
	require.NoError(t, err)
	defer holder.Close()
	for _, statement := range []string{`BEGIN`, `LOCK TABLE pools, prizes, awards IN ACCESS EXCLUSIVE MODE`} {
		_, err := holder.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	for name, read := range map[string]func(context.Context) error{
		"audit": func(ctx context.Context) error { _, err := s.Audit(ctx, "p"); return err },
		"draw":  func(ctx context.Context) error { _, err := s.Draw(ctx, "p", "d"); return err },
		"pool":  func(ctx context.Context) error { _, err := s.Pool(ctx, "p"); return err },
		"odds":  func(ctx context.Context) error { _, err := s.Odds(ctx, "p", ""); return err },
	} {
		err := read(t.Context())
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%s: %v", name, err)
	}
	_, err = s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "restock"}, "test")
	require.Equal(t, draw.CodeContended, draw.CodeOf(err), "%v", err)
}

// TestDrawRetriesWhileSeedsAreLocked: if another session locks the seeds of a pool, a
// draw has a conflict, as with any other table. It is attempted again, and its key is
// looked up.
func TestDrawRetriesWhileSeedsAreLocked(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, stocktest.Migrated(t, "postgres")+"&lock_timeout=20ms",
		stock.Options{LockWait: 20 * time.Millisecond, Identities: stocktest.Identities(t)})
	_, err := s.CreatePool(t.Context(), draw.Pool{ID: "p", Name: "p", State: draw.StatePaused}, "test")
	require.NoError(t, err)
	require.NoError(t, stocktest.Commit(t, s, "p", 4, 16))
	holder, err := s.LockDB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = holder.ExecContext(t.Context(), `LOCK TABLE commitments IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	urn := urn.NewUrn("p")
	_, err = s.Read(t.Context(), urn, stock.TxOptions{})
	require.Equal(t, stock.ClassConflict, stock.ClassOf(err), "%v", err)
	_, isPublic := errors.AsType[*draw.Error](err)
	require.False(t, isPublic, "whoever decides the draw says what became of it: %v", err)
	require.NoError(t, holder.Rollback())
	tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.False(t, urn.LacksSecrets())
}
