package lockmode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// testSellOut: 64 callers request 1,000 units, and the pool has 500. It runs at one
// service and at three.
func testSellOut(t *testing.T, a *arena) {
	for name, services := range map[string][]*service{"one": {a.serve(t, 0)}, "three": a.three(t)} {
		pool := a.pool(t, 300, 150, 40, 9, 1)
		y := storm{services: services, poolID: pool, prefix: name, asked: 1000}.run(t)
		require.NoError(t, y.soldOutExactly(1000, 300, 150, 40, 9, 1), name)
		require.NoError(t, y.asLogged(t, a.store(0), pool), name)
		audit := stocktest.NoViolations(t, a.store(0), pool)
		require.Equal(t, int64(506), audit.Version, "a version for each of a change, five moves and 500 awards")
		if len(services) == 1 {
			seen := services[0].seen
			drain(t, services[0].Batcher)
			seen.in(func() {
				require.Equal(t, 500, seen.answered[group.OutcomeWon]+seen.answered[group.OutcomeReplayed], "%v", seen.answered)
				require.Greater(t, most(seen.gathered), 1, "draws that wait are decided together")
			})
		}
	}
}

// testSellOutInDraws: draws of one to nine units get all or none, until nothing is
// left.
func testSellOutInDraws(t *testing.T, a *arena) {
	pool := a.pool(t, 200, 90, 10)
	counts := make([]int, 150)
	for i := range counts {
		counts[i] = 1 + rand.IntN(9)
	}
	services := a.three(t)
	y := storm{services: services, poolID: pool, prefix: "n", asked: len(counts), count: func(i int) int { return counts[i] }}.run(t)
	require.NoError(t, y.asLogged(t, a.store(0), pool))
	left := 300
	for _, d := range y.won {
		left -= len(d.Awards)
	}
	require.GreaterOrEqual(t, left, 0)
	for _, r := range y.refused[draw.CodeSoldOut] {
		require.Greater(t, r.Count, left, "a draw was refused although its units were there to the end")
	}
	require.Len(t, y.won, len(counts)-len(y.refused[draw.CodeSoldOut]), "%v", y.codes())

	rest := storm{services: services, poolID: pool, prefix: "rest", asked: left + 10}.run(t)
	require.Len(t, rest.won, left)
	require.Len(t, rest.refused[draw.CodeSoldOut], 10)
	require.Zero(t, remaining(stocktest.NoViolations(t, a.store(0), pool)))
}

func remaining(a draw.Audit) (units int64) {
	for _, p := range a.Prizes {
		units += p.Remaining
	}
	return units
}

func oneByOne(s *settings) { s.BatchMax = 1 }

// testSellOutOneByOne is testSellOut with batches of one draw.
func testSellOutOneByOne(t *testing.T, a *arena) {
	pool := a.pool(t, 40, 20)
	services := a.three(t, oneByOne)
	y := storm{services: services, poolID: pool, prefix: "one", asked: 120}.run(t)
	require.NoError(t, y.soldOutExactly(120, 40, 20))
	require.NoError(t, y.asLogged(t, a.store(0), pool))
	stocktest.NoViolations(t, a.store(0), pool)
	for _, s := range services {
		drain(t, s.Batcher)
		s.seen.in(func() { require.Equal(t, 1, most(s.seen.gathered)) })
	}
}

// testSellOutThroughFaults sells out a pool while commits and responses are lost, and
// while conflicts and an unreachable database occur in turn.
func testSellOutThroughFaults(t *testing.T, a *arena) {
	pool := a.pool(t, 100, 49, 1)
	faults := applying(inTurn(outrun, answerLost, applied, commitLost, unreached, applied, answerLost))
	services := a.three(t, faults, func(s *settings) { s.BatchMax = 16 })
	y := storm{services: services, poolID: pool, prefix: "f", asked: 250}.run(t)
	require.NoError(t, y.soldOutExactly(250, 100, 49, 1))
	require.NoError(t, y.asLogged(t, a.store(0), pool))
	stocktest.NoViolations(t, a.store(0), pool)
	reasons := map[string]int{}
	for _, s := range services {
		drain(t, s.Batcher)
		s.seen.in(func() {
			for reason, n := range s.seen.retries {
				reasons[reason] += n
			}
		})
	}
	for _, reason := range []string{"version", "commit", "connection"} {
		require.Positive(t, reasons[reason], "%v", reasons)
	}
}

// testRestock: units are added and removed during draws. None is lost, and all that
// remain are won in the end.
func testRestock(t *testing.T, a *arena) {
	pool := a.pool(t, 30, 30)
	services := a.three(t)
	stocked := make([]map[string]int64, 300)
	restock := func(i int) {
		if i%10 != 0 {
			return
		}
		prize, delta := string(rune('a'+i/10%2)), int64(10)
		if i%30 == 0 {
			delta = -7
		}
		w := draw.Stocking{PoolID: pool, PrizeID: prize, Delta: delta, Reason: "storm", Key: fmt.Sprint("move-", i)}
		_, err := a.store(i).Stock(t.Context(), w, "test")
		for draw.CodeOf(err) == draw.CodeContended {
			_, err = a.store(i).Stock(t.Context(), w, "test")
		}
		if draw.CodeOf(err) == draw.CodeStockBelowIssued {
			return
		}
		if err != nil {
			t.Errorf("stock: %v", err) // not on the test's goroutine
			return
		}
		stocked[i] = map[string]int64{prize: delta}
	}
	y := storm{services: services, poolID: pool, prefix: "s", asked: 300, before: restock}.run(t)
	want := map[string]int64{"a": 30, "b": 30}
	moves := int64(2)
	for _, m := range stocked {
		for prize, delta := range m {
			want[prize] += delta
			moves++
		}
	}
	rest := storm{services: services, poolID: pool, prefix: "rest", asked: int(want["a"]+want["b"]) + 1}.run(t)
	won, later := y.units(), rest.units()
	audit := stocktest.NoViolations(t, a.store(0), pool)
	for i, prize := range []string{"a", "b"} {
		require.Equal(t, want[prize], won[prize]+later[prize], "every unit of %s was won", prize)
		require.Equal(t, want[prize], audit.Prizes[i].Stocked)
		require.Equal(t, want[prize], audit.Prizes[i].Issued)
	}
	require.Equal(t, 1+moves+want["a"]+want["b"], audit.Version)
	require.GreaterOrEqual(t, moves, int64(2+20), "restocks are never refused")
	require.Len(t, y.won, 300-len(y.refused[draw.CodeSoldOut]), "%v", y.codes())
}

// TestMixedModes: three services in three modes share one pool, while the pool's own mode
// changes during draws.
func TestMixedModes(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{dialect: dialect, lock: "table"})
			modes := lockmode.Names()
			t.Run("at once", func(t *testing.T) {
				var services []*service
				for i, mode := range modes {
					services = append(services, a.serve(t, i, func(s *settings) { s.Mode = mode; s.BatchMax = 16 }))
				}
				pool := a.pool(t, 300, 150, 40, 9, 1)
				y := storm{services: services, poolID: pool, prefix: "m", asked: 1000}.run(t)
				require.NoError(t, y.soldOutExactly(1000, 300, 150, 40, 9, 1))
				require.NoError(t, y.asLogged(t, a.store(0), pool))
				stocktest.NoViolations(t, a.store(0), pool)
				for i, s := range services {
					drain(t, s.Batcher)
					s.seen.in(func() {
						require.Positive(t, s.seen.modes[modes[i]])
						require.Len(t, s.seen.modes, 1)
					})
				}
			})
			t.Run("switched", func(t *testing.T) { testSwitched(t, a, modes) })
		})
	}
}

func testSwitched(t *testing.T, a *arena, modes []string) {
	own := modes[0]
	services := a.three(t, func(s *settings) { s.Mode = own; s.BatchMax = 16 })
	pool := a.pool(t, 200, 95, 5)
	wanted := append(modes, "") // "" is the service's own mode
	y := storm{services: services, poolID: pool, prefix: "m", asked: 600, before: func(i int) {
		if i%12 != 0 {
			return
		}
		_, err := a.store(i).ChangePool(t.Context(), pool, draw.PoolChange{Mode: &wanted[i/12%len(wanted)]}, "test")
		if err != nil && draw.CodeOf(err) != draw.CodeContended {
			t.Errorf("change the mode: %v", err)
		}
	}}.run(t)
	require.NoError(t, y.soldOutExactly(600, 200, 95, 5))
	require.NoError(t, y.asLogged(t, a.store(0), pool))
	stocktest.NoViolations(t, a.store(0), pool)

	// Each mode is used as soon as the pool names it, on every instance.
	_, err := a.store(0).Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "a", Delta: 100, Reason: "more"}, "test")
	require.NoError(t, err)
	for i, mode := range wanted {
		_, err := a.store(0).ChangePool(t.Context(), pool, draw.PoolChange{Mode: &mode}, "test")
		require.NoError(t, err)
		if mode == "" {
			mode = own
		}
		for j, s := range services {
			s.seen.in(func() { clear(s.seen.modes) })
			y := storm{services: services[j : j+1], poolID: pool, prefix: fmt.Sprint("after", i, j), asked: 1}.run(t)
			require.Len(t, y.won, 1)
			decided := func() (ok bool) { s.seen.in(func() { ok = s.seen.modes[mode] > 0 }); return ok }
			require.Eventually(t, decided, patience, time.Millisecond, "mode %q on instance %d", mode, j)
		}
	}
}
