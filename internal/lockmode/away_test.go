package lockmode_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock/stocktest"
)

// awayFor is a number of writes by other instances that is larger than the pool's trail.
const awayFor = 20

// taken is a lock that others hold for longer than any caller waits.
type taken struct{}

func (taken) WithLock(context.Context, string, func(context.Context, int64) error) error {
	return draw.Errorf(draw.CodeContended, "the lock is held by others; nothing happened")
}

// swapped is a lock that can be replaced. The next lock is used only when the last one is
// free, because its holder also decides draws that arrive shortly after.
type swapped struct {
	mu     sync.RWMutex
	locker lockmode.Locker
}

func (s *swapped) WithLock(ctx context.Context, pool string, fn func(context.Context, int64) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.locker.WithLock(ctx, pool, fn)
}

// swap replaces the lock by next, and returns the former one.
func (s *swapped) swap(next lockmode.Locker) (last lockmode.Locker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, s.locker = s.locker, next
	return last
}

// swap is an instance whose lock a test replaces. In its pool, the instance has made
// draws with the keys known-0 and so on.
type swap struct {
	*arena
	*service
	pool string
	lock *swapped
}

func newSwap(t *testing.T, dialect string, known int, edits ...edit) *swap {
	t.Helper()
	a := newArena(t, cell{lockmode.External, dialect, nobody})
	w := &swap{arena: a, pool: a.pool(t, 100), lock: &swapped{locker: a.locks[0]}}
	w.service = a.serve(t, 0, append(edits, func(s *settings) { s.Locker = w.lock })...)
	draws(t, w.service, w.pool, "known", known)
	return w
}

// TestStaleInstanceReplaysWithoutTheLock: an instance that missed many writes answers a known key
// while others hold the pool's lock.
func TestStaleInstanceReplaysWithoutTheLock(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			away := newSwap(t, dialect, 1)
			draws(t, away.serve(t, 1), away.pool, "others", awayFor)
			away.lock.swap(taken{})
			known, err := away.Draw(t.Context(), named(away.pool, "known-0"))
			require.NoError(t, err)
			require.True(t, known.Replayed)
			stocktest.NoViolations(t, away.store(0), away.pool)
		})
	}
}

// TestStaleInstanceDrawsInOneAttempt: if an instance has missed many writes, its next
// draw still meets no conflict.
func TestStaleInstanceDrawsInOneAttempt(t *testing.T) {
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
