package lockmode_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// setState changes a pool's state, however busy the pool is.
func (a *arena) setState(t *testing.T, i int, pool string, state draw.State) {
	t.Helper()
	for {
		_, err := a.store(i).ChangePool(t.Context(), pool, draw.PoolChange{State: &state}, "test")
		if draw.CodeOf(err) != draw.CodeContended {
			require.NoError(t, err)
			return
		}
	}
}

func (a *arena) committed(t *testing.T, epochs, length int64) string {
	t.Helper()
	pool := a.ruled(t, 400, 900, `{"fallback":"none","win":"4/5","limits":[{"of":"draws","max":60,"per":"day"},{"of":"prize","prize":"gold","max":3}]}`)
	require.Equal(t, draw.CodePoolOpen, draw.CodeOf(stocktest.Commit(t, a.store(0), pool, epochs, length)))
	a.setState(t, 0, pool, draw.StatePaused)
	require.NoError(t, stocktest.Commit(t, a.store(0), pool, epochs, length))
	require.Equal(t, draw.CodePoolCommitted, draw.CodeOf(stocktest.Commit(t, a.store(0), pool, epochs, length)))
	a.setState(t, 0, pool, draw.StateOpen)
	return pool
}

// testCommitted: three instances draw from one committed pool while stock and rules
// change. According to both verifiers, every version gives the result that the seed
// determines.
func testCommitted(t *testing.T, a *arena) {
	pool := a.committed(t, 40, 50)
	services := a.three(t)
	granted := 0
	for round := range 6 {
		var answers []<-chan answer
		for i := range 60 {
			r := named(pool, fmt.Sprint("committed-", round, "-", i))
			r.UserID, r.Count = fmt.Sprint("user-", i%9), 1+i%3
			answers = append(answers, ask(t, services[i%instances], r))
		}
		switch round {
		case 1:
			_, err := a.store(1).Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "gold", Delta: 17, Reason: "more"}, "test")
			require.NoError(t, err)
		case 2:
			a.setRules(t, 2, pool, `{"odds":{"of":10,"prizes":{"silver":4,"gold":2,"pin":0}},"fallback":"none","guarantee":{"after":2,"prize":"silver"}}`)
		case 0:
			_, err := a.store(0).AddPrize(t.Context(), pool, draw.Prize{ID: "pin", Name: "Pin", Value: decimal.NewFromInt(1), Stocked: 50}, "test")
			require.NoError(t, err)
		case 4:
			a.setRules(t, 1, pool, `{"fallback":"none","budget":{"max":"100.00","per":"hour"},"blocked":["user-8"]}`)
		}
		for _, from := range answers {
			if got := receive(t, from); got.err == nil {
				granted += len(got.draw.Awards)
			}
		}
	}
	require.Greater(t, granted, 300)
	_, err := a.store(0).Reveal(t.Context(), pool)
	require.Equal(t, draw.CodePoolOpen, draw.CodeOf(err), "%v", err)
	a.setState(t, 0, pool, draw.StateClosed)
	_, err = a.store(0).Reveal(t.Context(), pool)
	require.NoError(t, err)
	dir, files := stocktest.Export(t, a.store(0), pool)
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.Equal(t, int64(granted), r.Recomputed)
	a.secondVerifies(t, dir)
	lawful(t, a.store(0), pool)
}

// testCommittedPools: if pools share transactions, each still has its own numbers.
func testCommittedPools(t *testing.T, a *arena) {
	pools := make([]string, 5)
	for i := range pools {
		pools[i] = a.pool(t, 30, 10)
		a.setState(t, 0, pools[i], draw.StatePaused)
		require.NoError(t, stocktest.Commit(t, a.store(0), pools[i], 4, 16))
		a.setState(t, 0, pools[i], draw.StateOpen)
	}
	services := a.three(t)
	var answers []<-chan answer
	for i := range 30 {
		for _, pool := range pools {
			answers = append(answers, ask(t, services[i%instances], named(pool, fmt.Sprint("many-", i))))
		}
	}
	for _, from := range answers {
		require.NoError(t, receive(t, from).err)
	}
	for _, pool := range pools {
		a.setState(t, 0, pool, draw.StateClosed)
		_, err := a.store(0).Reveal(t.Context(), pool)
		require.NoError(t, err)
		_, files := stocktest.Export(t, a.store(0), pool)
		r, err := proof.Verify(files, proof.VerifyOptions{})
		require.NoError(t, err)
		require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
		require.Equal(t, int64(30), r.Recomputed)
	}
}

// isVerifiedTwice reports whether the second verifier checks the cell's published files.
// That verifier is in Python, and takes longer than the test itself. By default it runs
// in each mode and on each dialect, but not with each lock, because locks do not affect
// the published files.
func (c cell) isVerifiedTwice() bool { return c.lock == "" || c.lock == nobody || servertest.Every() }

// secondVerifies runs the second verifier.
func (a *arena) secondVerifies(t *testing.T, dir string) {
	t.Helper()
	if !a.isVerifiedTwice() {
		return
	}
	code, said := servertest.SecondVerifier(t, dir)
	require.Zero(t, code, said)
}

// testSeedAway: an instance that cannot unseal a pool's seed refuses the pool's draws,
// answers known draws, and draws from all other pools.
func testSeedAway(t *testing.T, a *arena) {
	if a.dialect == "sqlite" {
		return // an SQLite file has one process, and either it has the identity or it does not
	}
	pool, other := a.committed(t, 4, 1000), a.pool(t, 10)
	able := a.serve(t, 0)
	first := receive(t, ask(t, able, named(pool, "away-known")))
	require.NoError(t, first.err)
	blind := stocktest.Open(t, a.url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	without := a.serve(t, 0, func(s *settings) { s.Store, s.Sharer = blind, blind })
	for i := range 3 {
		got := receive(t, ask(t, without, named(pool, fmt.Sprint("away-", i))))
		require.Equal(t, draw.CodeSeedUnavailable, draw.CodeOf(got.err), "%v", got.err)
	}
	again := receive(t, ask(t, without, named(pool, "away-known")))
	require.NoError(t, again.err)
	require.True(t, again.draw.Replayed)
	require.NoError(t, receive(t, ask(t, without, named(other, "away-other"))).err)
	require.True(t, blind.SeedsAway())
	require.NoError(t, receive(t, ask(t, able, named(pool, "away-after"))).err)
}

// testSeedWrong: if a pool's sealed seed is not the committed one, no draw from the pool
// is granted. Draws from other pools continue. Draws from this pool continue once the
// right seed is back.
func testSeedWrong(t *testing.T, a *arena) {
	pool, other := a.deck(t), a.pool(t, 10)
	right := deckSeed()
	require.NoError(t, stocktest.Reseal(t, a.store(0), pool, right.Before(1)))
	s := a.serve(t, 0)
	for i := range 3 {
		got := receive(t, ask(t, s, named(pool, fmt.Sprint("wrong-", i))))
		require.Equal(t, draw.CodeSeedUnavailable, draw.CodeOf(got.err), "%v", got.err)
	}
	require.NoError(t, receive(t, ask(t, s, named(other, "wrong-other"))).err)
	require.True(t, a.store(0).SeedsAway())
	require.Empty(t, awardsOf(t, a.store(0), pool))
	require.NoError(t, stocktest.Reseal(t, a.store(0), pool, right))
	again := a.serve(t, 0)
	require.NoError(t, receive(t, ask(t, again, named(pool, "right"))).err)
	require.False(t, a.store(0).SeedsAway())
}

// testSeedsSpent: after the last version that has numbers, new draws are refused, and
// known ones are answered.
func testSeedsSpent(t *testing.T, a *arena) {
	pool := a.committed(t, 2, 5) // ten versions; one of them opens the pool
	s := a.serve(t, 0)
	for i := range 9 {
		require.NoError(t, receive(t, ask(t, s, named(pool, fmt.Sprint("spent-", i)))).err)
	}
	for i := range 3 {
		got := receive(t, ask(t, s, named(pool, fmt.Sprint("spent-late-", i))))
		require.Equal(t, draw.CodeSeedsSpent, draw.CodeOf(got.err), "%v", got.err)
	}
	again := receive(t, ask(t, s, named(pool, "spent-3")))
	require.NoError(t, again.err)
	require.True(t, again.draw.Replayed)
}
