package lockmode_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock/stocktest"
)

// lockedLog is a session that keeps everybody from the awards, as work on their
// table does.
func lockedLog(t *testing.T, a *arena) (clear func()) {
	t.Helper()
	conn, err := a.store(1).LockDB().Conn(t.Context())
	require.NoError(t, err)
	lock, unlock := []string{`LOCK TABLES awards WRITE`}, `UNLOCK TABLES`
	if a.dialect == "postgres" {
		lock, unlock = []string{`BEGIN`, `LOCK TABLE awards IN ACCESS EXCLUSIVE MODE`}, `ROLLBACK`
	}
	for _, query := range lock {
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	return func() {
		_, err := conn.ExecContext(context.Background(), unlock)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
}

// TestTheLogCannotBeAsked: while the log is kept from everybody, a known key is in
// doubt or the database unavailable, and the pool is not said to be busy.
func TestTheLogCannotBeAsked(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		for _, c := range []cell{
			{mode: lockmode.ForUpdate, dialect: dialect}, {mode: lockmode.Optimistic, dialect: dialect}, {lockmode.External, dialect, nobody},
		} {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				testLockedLog(t, newArena(t, c))
			})
		}
	}
}

func testLockedLog(t *testing.T, a *arena) {
	pool := a.pool(t, 50)
	s := a.serve(t, 0, func(s *settings) { s.Budget, s.Settle, s.Timeout = 1500*time.Millisecond, 3*time.Second, 4*time.Second })
	testKnownInDoubt(t, a, s, pool, lockedLog, draw.CodeOutcomeUnknown, draw.CodeStoreUnavailable)
}

// testKnownInDoubt: known keys have one of the codes while something is held, and
// are replayed once it is free.
func testKnownInDoubt(t *testing.T, a *arena, s *service, pool string, hold func(*testing.T, *arena) (clear func()), codes ...draw.Code) {
	t.Helper()
	draws(t, s, pool, "known", 3)
	clear := hold(t, a)
	var known []<-chan answer
	for n := range 3 {
		known = append(known, once(t, s, named(pool, fmt.Sprint("known-", n))))
	}
	for _, from := range known {
		err := receive(t, from).err
		require.Contains(t, codes, draw.CodeOf(err), "%v", err)
	}
	drain(t, s.Batcher)
	clear()
	s = a.serve(t, 0)
	d, err := s.Draw(context.Background(), named(pool, "known-1"))
	require.NoError(t, err)
	require.True(t, d.Replayed)
	stocktest.NoViolations(t, a.store(0), pool)
}
