package lockmode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestAgendaThatCannotRun: while another session holds the row, draws after a due item
// get "busy", and known draws are answered.
func TestAgendaThatCannotRun(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.Optimistic, dialect: "postgres"})
	pool := a.pool(t, 10)
	hasty := stocktest.Open(t, a.url, stock.Options{LockWait: 200 * time.Millisecond})
	s := a.serve(t, 0, func(s *settings) {
		s.Store, s.Agendas, s.Sharer = hasty, hasty, nil
		s.Budget, s.Settle = time.Second, patience/2 // a lookup may take a part of Settle
	})
	first := receive(t, ask(t, s, named(pool, "first")))
	require.NoError(t, first.err)
	at := a.planOne(t, pool, func(at time.Time) draw.Item { return stocktest.StockAt(at, "a", 1) })
	stocktest.Await(t, a.store(0), at)
	tx, err := a.store(1).LockDB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `SELECT 1 FROM pools FOR UPDATE`)
	require.NoError(t, err)
	_, err = s.Draw(t.Context(), named(pool, "behind"))
	require.Equal(t, draw.CodeContended, draw.CodeOf(err), "%v", err)
	again, err := s.Draw(t.Context(), named(pool, "first"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.NoError(t, tx.Rollback())
	require.NoError(t, receive(t, ask(t, s, named(pool, "behind"))).err)
	require.Equal(t, 1, a.done(t, pool))
	stocktest.NoViolations(t, a.store(0), pool)
}
