package lockmode_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/servertest/drand"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// blind creates an open pool that is committed to a beacon.
func (a *arena) blind(t *testing.T, stocked ...int64) (string, *drand.Chain) {
	t.Helper()
	pool, chain := a.pool(t, stocked...), stocktest.NewChain(t)
	a.setState(t, 0, pool, draw.StatePaused)
	stocktest.CommitToBeacon(t, a.store(0), chain, pool, 40, 50, false)
	stocktest.OpenWith(t, a.store(0), chain, pool)
	return pool, chain
}

// proven closes the pool and verifies its published files. granted is the number of
// awards that it must have.
func (a *arena) proven(t *testing.T, pool string, granted int) string {
	t.Helper()
	a.setState(t, 0, pool, draw.StateClosed)
	_, err := a.store(0).Reveal(t.Context(), pool)
	require.NoError(t, err)
	dir, files := stocktest.Export(t, a.store(0), pool)
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.Equal(t, int64(granted), r.Recomputed)
	lawful(t, a.store(0), pool)
	return dir
}

// testBeacon: while three instances draw from one pool, the pool is opened repeatedly,
// each time with a round of its beacon. According to both verifiers, every version
// gives the result that the seed and the round of its opening determine.
func testBeacon(t *testing.T, a *arena) {
	pool, chain := a.blind(t, 400, 900)
	services := a.three(t)
	granted := 0
	for round := range instances {
		var answers []<-chan answer
		for i := range 45 {
			r := named(pool, fmt.Sprint("blind-", round, "-", i))
			r.Count = 1 + i%3
			answers = append(answers, ask(t, services[i%instances], r))
		}
		by := a.store(round)
		_, err := stocktest.ChangeState(t, by, pool, draw.StatePaused, nil)
		require.NoError(t, err)
		if round%2 == 1 {
			_, err := by.Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "a", Delta: 17, Reason: "more"}, "test")
			require.NoError(t, err)
		}
		stocktest.OpenWith(t, a.store(round+1), chain, pool)
		for _, from := range answers {
			got := receive(t, from)
			if got.err != nil {
				require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(got.err), "%v", got.err)
			}
			granted += len(got.draw.Awards)
		}
		for i, s := range services { // each instance notices the new round, whatever it had cached
			got := receive(t, ask(t, s, named(pool, fmt.Sprint("behind-", round, "-", i))))
			require.NoError(t, got.err)
			granted++
		}
	}
	a.secondVerifies(t, a.proven(t, pool, granted))
}

// testBeaconCached: picks from the cached copy are held while the pool is paused and
// opened with another round. They are not written, and the draw gets the result that
// the new round determines.
func testBeaconCached(t *testing.T, a *arena) {
	pool, chain := a.blind(t, 400, 900)
	stop := newDoor()
	t.Cleanup(stop.release)
	armed := new(atomic.Bool)
	held := stop.then(applied)
	store := &reads{Store: a.store(0)}
	s := a.serve(t, 0, func(s *settings) { s.Store = store }, applying(func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		if armed.Load() {
			return held(ctx, tx, p)
		}
		return applied(ctx, tx, p)
	}))
	const before = readsFirst + 2
	for i := range before {
		require.NoError(t, receive(t, ask(t, s, named(pool, fmt.Sprint("before-", i)))).err)
	}
	require.Positive(t, store.cached.Load())
	armed.Store(true)
	first := ask(t, s, named(pool, "first"))
	receive(t, stop.arrived)
	_, err := stocktest.ChangeState(t, a.store(1), pool, draw.StatePaused, nil)
	require.NoError(t, err)
	stocktest.OpenWith(t, a.store(2), chain, pool)
	stop.release()
	require.Equal(t, stock.ClassConflict, stock.ClassOf(receive(t, stop.written)))
	require.NoError(t, receive(t, first).err)
	for i := range 20 { // an idle instance notices a new round too
		require.NoError(t, receive(t, ask(t, s, named(pool, fmt.Sprint("idle-", i)))).err)
	}
	a.proven(t, pool, before+21)
}
