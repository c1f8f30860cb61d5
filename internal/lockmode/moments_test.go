package lockmode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// planMoments plans moments of gold, and returns the time at which they are due.
func (a *arena) planMoments(t *testing.T, pool string, n int) time.Time {
	t.Helper()
	return stocktest.InTime(t, a.store(0), pool, func(at time.Time) error {
		items := make([]draw.Item, n)
		for i := range items {
			items[i] = stocktest.MomentAt(at.Add(time.Duration(i%7)*time.Microsecond), "gold")
		}
		_, err := a.store(0).PlanItems(t.Context(), pool, items, "salt", "test")
		return err
	})
}

// momentRules are rules under which only moments give a prize, and each user gets at most
// one.
const momentRules = `{"fallback":"none","win":"1/1000000000","blocked":["evil"],"limits":[{"of":"prize","prize":"gold","max":1}]}`

// testMoments: moments become due while no instance checks the agenda. Each is taken
// once, by the first draw that may have it, at any instance. Here each user draws once. A
// refused draw takes no moment, and the log has no entry before the first draw.
func testMoments(t *testing.T, a *arena) {
	pool := a.ruled(t, 3, 3, momentRules)
	const moments, users = 20, 25
	at := a.planMoments(t, pool, moments)
	services := a.three(t)
	before, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	stocktest.Await(t, a.store(0), at.Add(10*time.Microsecond))
	require.NoError(t, a.store(1).RunAllDue(t.Context()))
	idle, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, before.Version, idle.Version, "an idle pool keeps its moments")

	evil := named(pool, "evil")
	evil.UserID = "evil"
	require.Equal(t, draw.CodeUserBlocked, draw.CodeOf(receive(t, ask(t, services[0], evil)).err))
	var answers []<-chan answer
	for i := range 3 * users {
		r := named(pool, fmt.Sprint("moment-", i))
		r.UserID = fmt.Sprint("u", i%users)
		answers = append(answers, ask(t, services[i%instances], r))
	}
	won := map[string]int{}
	for _, from := range answers {
		got := receive(t, from)
		require.NoError(t, got.err)
		if got.draw.Awards[0].PrizeID == "gold" {
			won[got.draw.UserID]++
		}
	}
	require.Len(t, won, moments)
	for user, n := range won {
		require.Equal(t, 1, n, user)
	}
	lawful(t, a.store(0), pool)
	found, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	require.EqualValues(t, moments, found.Prizes[0].Issued)
}

// TestThousandsOfMoments: three instances take each moment once, although one of them
// loses the answers to its commits. There are a thousand moments, or ten thousand in
// `make test-all`.
func TestThousandsOfMoments(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{mode: "optimistic", dialect: dialect})
			moments := 1000
			if servertest.Every() {
				moments = 10_000
			}
			pool := a.ruled(t, 3, 3, `{"fallback":"none","win":"1/1000000000"}`)
			at := a.planMoments(t, pool, moments)
			stocktest.Await(t, a.store(0), at.Add(10*time.Microsecond))
			services := []*service{a.serve(t, 0), a.serve(t, 1), a.serve(t, 2, applying(inTurn(applied, answerLost)))}
			var draws []draw.Request
			for i := range moments/20 + 5 {
				r := named(pool, fmt.Sprint("many-", i))
				r.Count = 20
				draws = append(draws, r)
			}
			// If all draws came at once, they would wait longer than callers do.
			for some := range slices.Chunk(draws, 50) {
				var answers []<-chan answer
				for i, r := range some {
					answers = append(answers, ask(t, services[i%instances], r))
				}
				for _, from := range answers {
					require.NoError(t, receive(t, from).err)
				}
			}
			golds := 0
			for _, w := range awardsOf(t, a.store(0), pool) {
				if w.PrizeID == "gold" {
					golds++
				}
			}
			require.Equal(t, moments, golds)
			lawful(t, a.store(0), pool)
		})
	}
}

// takenBeside writes a plan without the moments that it takes. A second transaction
// would write them, so an instance that is killed between the two takes none.
func takenBeside(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
	p.Takes = nil
	return tx.Write(ctx, p)
}

// TestMomentsCondemnTakingBesideTheWrite: if the taking of a moment is not part of the
// write, the moment is given twice.
func TestMomentsCondemnTakingBesideTheWrite(t *testing.T) {
	t.Parallel()
	for name, condemned := range map[string]bool{"beside": true, "in the write": false} {
		a := optimisticOnSQLite(t)
		pool := a.ruled(t, 3, 3, momentRules)
		at := a.planMoments(t, pool, 1)
		stocktest.Await(t, a.store(0), at.Add(10*time.Microsecond))
		write := applied
		if condemned {
			write = takenBeside
		}
		services := a.three(t, oneByOne, applying(write))
		for i := range 3 {
			r := named(pool, fmt.Sprint("beside-", i))
			r.UserID = fmt.Sprint("u", i)
			require.NoError(t, receive(t, ask(t, services[i], r)).err)
		}
		audit, err := a.store(0).AuditDeep(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, condemned, audit.Found > 0, "%s: %v", name, audit.Violations)
		if condemned {
			require.Equal(t, "moment-double", audit.Violations[0].Rule)
		}
	}
}
