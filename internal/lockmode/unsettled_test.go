package lockmode_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// heldSettling makes a session lock every row that MySQL and MariaDB write when they wait
// for the disk, and the gaps for rows that do not exist yet.
func heldSettling(t *testing.T, a *arena) (clear func()) {
	t.Helper()
	tx, err := a.store(1).LockDB().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	require.NoError(t, err)
	var rows int
	require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM lock_tokens FOR UPDATE`).Scan(&rows))
	return func() { require.NoError(t, tx.Rollback()) }
}

// TestUnsafeKeyStaysInDoubt: a known key was found, but the database has not confirmed
// that its draw is safe. The key is in doubt, whether its batch is given up or its own
// time ends. No answer says that nothing happened.
func TestUnsafeKeyStaysInDoubt(t *testing.T) {
	t.Parallel()
	for _, c := range []cell{
		{mode: lockmode.ForUpdate, dialect: "mysql"}, {mode: lockmode.Optimistic, dialect: "mysql"}, {lockmode.External, "mysql", nobody},
	} {
		for name, short := range map[string]edit{
			"given up": func(s *settings) {
				s.Budget, s.OptimisticBudget, s.Settle = 1500*time.Millisecond, 500*time.Millisecond, 5*time.Second
			},
			"late": func(s *settings) { s.Timeout = 1500 * time.Millisecond },
		} {
			t.Run(c.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				testKnownInDoubt(t, newArena(t, c), short, heldSettling, draw.CodeOutcomeUnknown)
			})
		}
	}
}

// lostLock is a lock that is granted late, and is lost every time.
type lostLock struct{ wait time.Duration }

func (l *lostLock) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	time.Sleep(l.wait)
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return fn(ctx, 1)
}

// TestReplaysWhileTheLockIsLost: if a lock is lost repeatedly, a known key is answered
// within the caller's time.
func TestReplaysWhileTheLockIsLost(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			w := newSwap(t, dialect, 1, func(s *settings) { s.Timeout = 6 * time.Second })
			w.lock.swap(&lostLock{2 * time.Second})
			fresh := once(t, w.service, named(w.pool, "new"))
			known := receive(t, once(t, w.service, named(w.pool, "known-0")))
			require.NoError(t, known.err)
			require.True(t, known.draw.Replayed)
			require.Equal(t, draw.CodeContended, draw.CodeOf(receive(t, fresh).err))
			stocktest.NoViolations(t, w.store(0), w.pool)
		})
	}
}

// hung is a store that does not answer while it hangs.
type hung struct {
	lockmode.Store
	hangs atomic.Bool
}

func (s *hung) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Read(ctx, urn, o)
}

// TestReplaysOfAHungStore: between two holds of a lock, a known key is looked up. The
// lookup does not wait forever for a database that does not answer.
func TestReplaysOfAHungStore(t *testing.T) {
	t.Parallel()
	store := &hung{}
	w := newSwap(t, "sqlite", 1, func(s *settings) { store.Store, s.Store, s.Sharer = s.Store, store, nil })
	free := w.lock.swap(&lostLock{})
	store.hangs.Store(true)
	require.Equal(t, draw.CodeContended, draw.CodeOf(receive(t, once(t, w.service, named(w.pool, "known-0"))).err))
	w.lock.swap(free)
	store.hangs.Store(false)
	require.NoError(t, receive(t, once(t, w.service, named(w.pool, "new"))).err)
}
