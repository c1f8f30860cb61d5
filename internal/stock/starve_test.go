package stock_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/stocktest"
)

// hold takes n connections and keeps them until the test ends.
func hold(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for range n {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
	}
}

// TestReadsStarveNobody: while all connections for reads are in use, the readiness check
// and changes continue. The broken double uses these connections for everything.
func TestReadsStarveNobody(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 3)
			hold(t, s.Engine().Read, engine.ReadConnections)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.NoError(t, s.CheckSchema(ctx))
			require.NoError(t, s.Ping(ctx))
			paused := draw.StatePaused
			p, err := s.ChangePool(ctx, "p", draw.PoolChange{State: &paused}, "test")
			require.NoError(t, err)
			require.Equal(t, draw.StatePaused, p.State)
			require.Len(t, p.Prizes, 1)
			_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
			require.NoError(t, err)

			soon, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer end()
			_, err = s.Pool(soon, "p")
			require.Error(t, err, "the double: it has to wait")
		})
	}
}

// TestChangesStarveNobody: while all connections for changes are in use, the readiness
// check and reads continue.
func TestChangesStarveNobody(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 3)
			hold(t, s.Engine().Write, s.Engine().Write.Stats().MaxOpenConnections+writesHeld(dialect))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.NoError(t, s.CheckSchema(ctx))
			_, err := s.Pool(ctx, "p")
			require.NoError(t, err)
			_, err = s.Audit(ctx, "p")
			require.NoError(t, err)
			soon, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer end()
			paused := draw.StatePaused
			_, err = s.ChangePool(soon, "p", draw.PoolChange{State: &paused}, "test")
			require.Error(t, err, "the double: it has to wait")
		})
	}
}

// writesHeld returns the maximum number of connections for changes if database/sql does
// not set it: PostgreSQL's connections are bounded by a pool below database/sql.
func writesHeld(dialect string) int {
	if dialect == "postgres" {
		return engine.AdminConnections
	}
	return 0
}
