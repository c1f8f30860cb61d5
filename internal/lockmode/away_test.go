package lockmode_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock/stocktest"
)

// awayFor is more writes of others than the pool's trail holds.
const awayFor = 20

// taken is a lock that others hold for as long as anybody waits.
type taken struct{}

func (taken) WithLock(context.Context, string, func(context.Context, int64) error) error {
	return draw.Errorf(draw.CodeContended, "the lock is held by others; nothing happened")
}

// swapped is one lock after another.
type swapped struct{ lockmode.Locker }

// TestAwayReplay: an instance that missed many writes answers a known key
// while others hold the pool's lock.
func TestAwayReplay(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{lockmode.External, dialect, nobody})
			pool := a.pool(t, 100)
			lock := &swapped{Locker: a.locks[0]}
			away := a.serve(t, 0, func(s *settings) { s.Locker = lock })
			draws(t, away, pool, "first", 1)
			draws(t, a.serve(t, 1), pool, "others", awayFor)
			lock.Locker = taken{}
			known, err := away.Draw(t.Context(), named(pool, "first-0"))
			require.NoError(t, err)
			require.True(t, known.Replayed)
			stocktest.NoViolations(t, a.store(0), pool)
		})
	}
}

// TestAwayOneAttempt: an instance that missed many writes meets nobody by that.
func TestAwayOneAttempt(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{mode: lockmode.Optimistic, dialect: dialect})
			pool := a.pool(t, 100)
			away := a.serve(t, 0, func(s *settings) { s.OptimisticAttempts = 1 })
			draws(t, away, pool, "first", 1)
			draws(t, a.serve(t, 1), pool, "others", awayFor)
			_, err := away.Draw(t.Context(), named(pool, "second"))
			require.NoError(t, err)
			stocktest.NoViolations(t, a.store(0), pool)
		})
	}
}
