package lockmode_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

// reads counts the attempts that read the pool first, and those that did not.
type reads struct {
	lockmode.Store
	reads, cached atomic.Int64
}

func (s *reads) Read(ctx context.Context, urn *draw.Urn, o stock.TxOptions) (stock.Tx, error) {
	s.reads.Add(1)
	return s.Store.Read(ctx, urn, o)
}

func (s *reads) Write(ctx context.Context, p *draw.Plan, o stock.TxOptions) error {
	s.cached.Add(1)
	return s.Store.Write(ctx, p, o)
}

// readsFirst are made before a pool is planned from its cached copy: one fills
// the copy, two find the pool unchanged.
const readsFirst = 3

// known is a service that plans the pool from its cached copy.
func known(t *testing.T, a *arena, pool string, edits ...edit) (*service, *reads) {
	t.Helper()
	store := &reads{Store: a.store(0)}
	s := a.serve(t, 0, append([]edit{func(s *settings) { s.Store = store }}, edits...)...)
	for i := range readsFirst + 2 {
		_, err := s.Draw(t.Context(), draw.Request{PoolID: pool, UserID: "u", DrawID: "known-" + string(rune('a'+i)), Count: 1})
		require.NoError(t, err)
	}
	require.Equal(t, []int64{readsFirst, 2}, []int64{store.reads.Load(), store.cached.Load()})
	return s, store
}

// testCached: the cached copy of a pool never decides against what has
// happened to the pool meanwhile.
func testCached(t *testing.T, a *arena) {
	pool := a.pool(t, readsFirst+4)
	s, store := known(t, a, pool)
	other := a.serve(t, 1)

	foreign, err := other.Draw(t.Context(), named(pool, "foreign"))
	require.NoError(t, err)
	d, err := s.Draw(t.Context(), named(pool, "after"))
	require.NoError(t, err)
	require.Equal(t, foreign.Awards[0].Version+1, d.Awards[0].Version, "picked again, from what the other had left")
	require.Equal(t, int64(readsFirst+1), store.reads.Load())

	_, err = s.Draw(t.Context(), named(pool, "none left"))
	require.Equal(t, draw.CodeSoldOut, draw.CodeOf(err))
	_, err = a.store(0).Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "a", Delta: 10, Reason: "more"}, "test")
	require.NoError(t, err)
	s.Changed(pool)
	for _, id := range []string{"b", "c", "d"} {
		_, err = s.Draw(t.Context(), named(pool, id))
		require.NoError(t, err)
	}
	again, err := s.Draw(t.Context(), named(pool, "after"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, d.Awards[0].Version, again.Awards[0].Version)

	paused := draw.StatePaused
	_, err = a.store(0).ChangePool(t.Context(), pool, draw.PoolChange{State: &paused}, "test")
	require.NoError(t, err)
	_, err = s.Draw(t.Context(), named(pool, "paused"))
	require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(err))
	require.NoError(t, audited(t, a.store(0), pool))
}

// testCachedFresh: picks from the cached copy that are held while another draw is
// committed are not written after it, also where the mode would have kept the
// other waiting.
func testCachedFresh(t *testing.T, a *arena) {
	pool := a.pool(t, 100)
	stop := newDoor()
	t.Cleanup(stop.release)
	armed := new(atomic.Bool)
	held := stop.then(applied)
	s, _ := known(t, a, pool, applying(func(ctx context.Context, tx stock.Tx, p *draw.Plan) error {
		if armed.Load() {
			return held(ctx, tx, p)
		}
		return applied(ctx, tx, p)
	}))
	armed.Store(true)
	first := ask(t, s, named(pool, "first"))
	receive(t, stop.arrived)
	if a.mode == lockmode.External && a.lock != nobody {
		stop.release() // the lock keeps everybody else waiting
		require.NoError(t, receive(t, stop.written))
		require.NoError(t, receive(t, first).err)
		return
	}
	second := receive(t, ask(t, a.serve(t, 1), named(pool, "second")))
	require.NoError(t, second.err)
	stop.release()
	require.Equal(t, stock.ClassConflict, stock.ClassOf(receive(t, stop.written)))
	answered := receive(t, first)
	require.NoError(t, answered.err)
	require.Equal(t, second.draw.Awards[0].Version+1, answered.draw.Awards[0].Version)
	require.NoError(t, audited(t, a.store(0), pool))
}
