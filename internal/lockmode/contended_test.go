package lockmode_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestContendedIsRare: three optimistic instances share one pool and have 64 callers. At
// most one draw in a thousand is answered "busy", and no replay is.
func TestContendedIsRare(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{mode: lockmode.Optimistic, dialect: dialect})
			const draws = 4000
			pool := a.pool(t, draws/2, draws/2)
			all := a.three(t)
			for i := range 25 {
				require.NoError(t, receive(t, ask(t, all[0], named(pool, fmt.Sprint("known-", i)))).err)
			}
			var contended, replays atomic.Int64
			var next atomic.Int64
			var group sync.WaitGroup
			for caller := range callers {
				group.Go(func() {
					for n := next.Add(1); n <= draws/2; n = next.Add(1) {
						r := named(pool, fmt.Sprint("d-", n))
						if n%20 == 0 {
							r = named(pool, fmt.Sprint("known-", n/20%25))
						}
						d, err := all[caller%len(all)].Draw(t.Context(), r)
						switch {
						case draw.CodeOf(err) == draw.CodeContended && n%20 != 0:
							contended.Add(1)
						case err != nil:
							t.Errorf("%s: %v", r.DrawID, err)
						case d.Replayed:
							replays.Add(1)
						}
					}
				})
			}
			group.Wait()
			t.Logf("%d of %d draws contended, %d replays", contended.Load(), draws/2, replays.Load())
			require.LessOrEqual(t, contended.Load(), int64(draws/2/1000))
			require.Equal(t, int64(draws/2/20), replays.Load())
			require.NoError(t, audited(t, a.store(0), pool))
		})
	}
}

// TestKnownKeyWhateverIsSpent: even if only one attempt is allowed, a known key is
// answered, and the other draws of its batch are decided.
func TestKnownKeyWhateverIsSpent(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		a := newArena(t, cell{mode: lockmode.Optimistic, dialect: dialect})
		pool := a.pool(t, 50)
		require.NoError(t, receive(t, ask(t, a.serve(t, 0), named(pool, "d0"))).err)
		stop := newDoor()
		s := a.serve(t, 0, func(s *settings) { s.OptimisticAttempts = 1 }, applying(stop.then(applied)), queueOf(5))
		answers := crowd(t, s, stop, pool, 5)
		stop.release()
		known := 0
		for id, from := range answers {
			got := receive(t, from)
			require.NoError(t, got.err, "%s on %s", id, dialect)
			if got.draw.Replayed {
				known++
			}
		}
		require.LessOrEqual(t, known, 1)
		again, err := s.Draw(t.Context(), named(pool, "d0"))
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.NoError(t, audited(t, a.store(0), pool))
	}
}

// TestReplayNeedsNoLock: a session holds the pool's row, or the lock service is down. New
// draws get that error, and known ones are answered.
func TestReplayNeedsNoLock(t *testing.T) {
	t.Parallel()
	for _, c := range []cell{
		{mode: lockmode.ForUpdate, dialect: "postgres"}, {mode: lockmode.ForUpdate, dialect: "mysql"},
		{mode: lockmode.Optimistic, dialect: "postgres"}, {lockmode.External, "postgres", "row"},
	} {
		a := newArena(t, c)
		pool := a.pool(t, 50)
		s := a.serve(t, 0, soon, func(s *settings) { s.QueueMax = 100 })
		first, err := s.Draw(t.Context(), named(pool, "known"))
		require.NoError(t, err)
		holder, err := a.store(1).Read(t.Context(), urn.NewUrn(pool), stock.TxOptions{Lock: true})
		require.NoError(t, err)
		fresh, known := once(t, s, named(pool, "new")), once(t, s, named(pool, "known"))
		require.Equal(t, draw.CodeContended, draw.CodeOf(receive(t, fresh).err), c)
		got := receive(t, known)
		require.NoError(t, got.err, c)
		require.NoError(t, sameAwards(first.Awards, got.draw.Awards))
		holder.Rollback()
		stocktest.NoViolations(t, a.store(0), pool)
	}
	a := optimisticOnSQLite(t)
	pool := a.pool(t, 5)
	require.NoError(t, receive(t, ask(t, a.serve(t, 0), named(pool, "known"))).err)
	down := &spy{refuse: func(int64) error { return draw.Errorf(draw.CodeLockUnavailable, "no") }}
	s := a.serve(t, 0, locking(down))
	got, err := s.Draw(t.Context(), named(pool, "known"))
	require.NoError(t, err)
	require.True(t, got.Replayed)
	_, err = s.Draw(t.Context(), named(pool, "new"))
	require.Equal(t, draw.CodeLockUnavailable, draw.CodeOf(err))
}
