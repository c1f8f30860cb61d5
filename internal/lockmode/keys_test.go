package lockmode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// testSameKey: one key is sent 200 times to three services. It makes one draw and gets
// 200 equal answers, only one of which says that the draw is new.
func testSameKey(t *testing.T, a *arena) {
	pool := a.pool(t, 50, 50)
	services := a.three(t)
	r := named(pool, "again and again")
	r.Count = 3
	var answers []<-chan answer
	for i := range 200 {
		answers = append(answers, ask(t, services[i%instances], r))
	}
	fresh := 0
	first := receive(t, answers[0])
	for i, from := range answers {
		got := first
		if i > 0 {
			got = receive(t, from)
		}
		require.NoError(t, got.err)
		require.NoError(t, sameAwards(first.draw.Awards, got.draw.Awards))
		require.Equal(t, "u", got.draw.UserID)
		if !got.draw.Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	audit := stocktest.NoViolations(t, a.store(0), pool)
	require.Equal(t, int64(3+3), audit.Version)
}

// testKeyAgain: a key with another user or count is refused and changes nothing; in
// another pool it is another draw.
func testKeyAgain(t *testing.T, a *arena) {
	pool, other := a.pool(t, 50), a.pool(t, 50)
	services := a.three(t)
	first := receive(t, ask(t, services[0], named(pool, "k")))
	require.NoError(t, first.err)
	require.False(t, first.draw.Replayed)

	r := named(pool, "k")
	r.UserID = "somebody else"
	for _, s := range services {
		require.Equal(t, draw.CodeKeyReused, draw.CodeOf(receive(t, ask(t, s, r)).err))
	}
	r = named(pool, "k")
	r.Count = 2
	for _, s := range services {
		require.Equal(t, draw.CodeKeyReused, draw.CodeOf(receive(t, ask(t, s, r)).err))
	}
	for _, s := range services {
		again := receive(t, ask(t, s, named(pool, "k")))
		require.NoError(t, again.err)
		require.True(t, again.draw.Replayed)
		require.NoError(t, sameAwards(first.draw.Awards, again.draw.Awards))
	}
	elsewhere := receive(t, ask(t, services[0], named(other, "k")))
	require.NoError(t, elsewhere.err)
	require.False(t, elsewhere.draw.Replayed)
	require.Equal(t, int64(2+1), stocktest.NoViolations(t, a.store(0), pool).Version)
	require.Equal(t, int64(2+1), stocktest.NoViolations(t, a.store(0), other).Version)
}

// testTens: draws of ten units get all of them or none.
func testTens(t *testing.T, a *arena) {
	pool := a.pool(t, 200, 95, 9)
	y := storm{services: a.three(t), poolID: pool, prefix: "ten", asked: 50, count: func(int) int { return 10 }}.run(t)
	require.Len(t, y.won, 30)
	require.Len(t, y.refused[draw.CodeSoldOut], 20, "%v", y.codes())
	for _, d := range y.won {
		require.Len(t, d.Awards, 10)
		for i, award := range d.Awards {
			require.Equal(t, i+1, award.Ordinal)
			require.Equal(t, d.Awards[0].Version+int64(i), award.Version, "one after another")
		}
	}
	require.NoError(t, y.asLogged(t, a.store(0), pool))
	require.Equal(t, int64(4), remaining(stocktest.NoViolations(t, a.store(0), pool)))
}

// testShut: a known key is answered when its pool is sold out, paused or closed; a new
// one is refused with the right code.
func testShut(t *testing.T, a *arena) {
	pool := a.pool(t, 2)
	s := a.serve(t, 0)
	fresh := a.serve(t, 1) // has not read the pool yet
	first := receive(t, ask(t, s, named(pool, "k")))
	require.NoError(t, first.err)
	require.NoError(t, receive(t, ask(t, s, named(pool, "last"))).err)
	check := func(want draw.Code, id string) {
		t.Helper()
		for _, s := range []*service{s, fresh} {
			again := receive(t, ask(t, s, named(pool, "k")))
			require.NoError(t, again.err)
			require.True(t, again.draw.Replayed)
			require.NoError(t, sameAwards(first.draw.Awards, again.draw.Awards))
			reused := named(pool, "k")
			reused.UserID = "other"
			require.Equal(t, draw.CodeKeyReused, draw.CodeOf(receive(t, ask(t, s, reused)).err))
			for _, isNamed := range []bool{true, false} {
				r := named(pool, id)
				r.Named = isNamed
				require.Equal(t, want, draw.CodeOf(receive(t, ask(t, s, r)).err))
			}
		}
	}
	check(draw.CodeSoldOut, "new")
	become := func(state draw.State) {
		_, err := a.store(0).ChangePool(t.Context(), pool, draw.PoolChange{State: &state}, "test")
		require.NoError(t, err)
	}
	become(draw.StatePaused)
	check(draw.CodePoolNotOpen, "new")
	become(draw.StateOpen)
	_, err := a.store(0).Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "a", Delta: 1, Reason: "more"}, "test")
	require.NoError(t, err)
	won := receive(t, ask(t, s, named(pool, "new")))
	require.NoError(t, won.err, "a key that was refused is free")
	require.False(t, won.draw.Replayed)
	require.Equal(t, int64(3), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
	become(draw.StateClosed)
	check(draw.CodePoolNotOpen, "newer")
}

// TestRestartedServiceReplays: a new process on the same database repeats earlier
// answers, even in another mode.
func TestRestartedServiceReplays(t *testing.T) {
	for _, c := range cells() {
		if c.lock != "" && c.lock != "table" {
			continue // the lock is not used for past draws
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			pool := a.pool(t, 20, 20)
			services := a.three(t)
			y := storm{services: services, poolID: pool, prefix: "k", asked: 30}.run(t)
			require.Len(t, y.won, 30)
			for _, s := range services {
				drain(t, s.Batcher) // the lock is released after the answers; if nobody released it, its lease would last to the end of its term
			}
			for _, s := range a.stores {
				require.NoError(t, s.Close())
			}

			store := stocktest.Open(t, a.url, stock.Options{})
			for _, mode := range lockmode.Names() {
				again := &arena{cell: cell{mode: mode, dialect: c.dialect, lock: "table"}, stores: []*stock.Store{store}}
				again.openLocks(t)
				s := again.serve(t, 0)
				for id, d := range y.won {
					r := draw.Request{PoolID: pool, UserID: d.UserID, DrawID: id, Named: true, Count: 1}
					got := receive(t, ask(t, s, r))
					require.NoError(t, got.err)
					require.True(t, got.draw.Replayed)
					require.NoError(t, sameAwards(d.Awards, got.draw.Awards))
				}
				require.NoError(t, receive(t, ask(t, s, named(pool, fmt.Sprint("new in ", mode)))).err)
			}
			stocktest.NoViolations(t, store, pool)
		})
	}
}
