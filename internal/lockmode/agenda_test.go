package lockmode_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// lead is how far ahead the first item of an agenda is planned: that is long enough to
// plan the items after it, even on a busy machine.
const lead = 2500 * time.Millisecond

// drawnBefore is how long before the first item draws begin. Each of them is refused,
// and a refused draw costs as much as a granted one.
const drawnBefore = 250 * time.Millisecond

// drawPause is the pause of a caller who draws repeatedly.
const drawPause = 5 * time.Millisecond

// testAgenda: draws never stop while the agenda opens the pool, stocks it, changes its
// rules and closes it. The history must contain no draw that is later than an item and
// was decided under the state before it. A caller that draws after an item must see its
// effect at once.
func testAgenda(t *testing.T, a *arena) {
	pool := a.ruled(t, 3, 3, `{"fallback":"none","win":"1/1000000","limits":[{"of":"draws","max":1000000}]}`)
	paused := draw.StatePaused
	_, err := a.store(0).ChangePool(t.Context(), pool, draw.PoolChange{State: &paused}, "test")
	require.NoError(t, err)
	parsed, err := rules.Parse([]byte(`{"fallback":"none"}`))
	require.NoError(t, err)
	opens := stocktest.PlanInTime(t, a.store(0), pool, lead, func(at time.Time) []draw.Item {
		return []draw.Item{
			stocktest.StateAt(at.Add(900*time.Millisecond), draw.StatePaused), {At: at.Add(600 * time.Millisecond), Kind: draw.ItemRules, Rules: parsed},
			stocktest.StockAt(at.Add(300*time.Millisecond), "gold", 5), stocktest.StateAt(at, draw.StateOpen),
		}
	})
	restocks, rules, shuts := opens.Add(300*time.Millisecond), opens.Add(600*time.Millisecond), opens.Add(900*time.Millisecond)
	services := a.three(t)
	stocktest.Await(t, a.store(0), opens.Add(-drawnBefore))
	stop := a.keepDrawing(t, services, pool)
	probe := func(name string) error {
		return receive(t, ask(t, services[1], named(pool, name))).err
	}
	for i, at := range []time.Time{opens, restocks, rules, shuts} {
		stocktest.Await(t, a.store(0), at)
		err := probe(fmt.Sprint("probe-", i))
		done := a.done(t, pool)
		require.GreaterOrEqual(t, done, i+1, "a draw behind %d items sees all of them", i+1)
		if i == 3 {
			require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(err), "%v", err)
		} else if done < 4 { // otherwise this machine has slept past the end
			require.NoError(t, err)
		}
	}
	stop()
	for _, w := range awardsOf(t, a.store(0), pool) {
		require.False(t, w.At.Before(opens.Truncate(time.Microsecond)), "drawn before the opening")
		require.True(t, w.At.Before(shuts), "drawn behind the closing")
	}
	due := 0
	for _, s := range services {
		s.seen.in(func() { due += s.seen.retries["due"] })
	}
	require.Positive(t, due, "tries of draws have done the items: nobody else does")
	lawful(t, a.store(0), pool)
}

// planOne plans one item, and returns the time at which it is due.
func (a *arena) planOne(t *testing.T, pool string, item func(at time.Time) draw.Item) time.Time {
	t.Helper()
	return stocktest.PlanInTime(t, a.store(0), pool, lead, func(at time.Time) []draw.Item { return []draw.Item{item(at)} })
}

// done counts the items of a pool that are done.
func (a *arena) done(t *testing.T, pool string) (n int) {
	t.Helper()
	items, err := a.store(0).Agenda(t.Context(), pool, 0, 100_000, false)
	require.NoError(t, err)
	for _, i := range items {
		if i.Done > 0 {
			n++
		}
	}
	return n
}

// keepDrawing draws from a pool on all services until the returned function is called.
func (a *arena) keepDrawing(t *testing.T, services []*service, pool string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var drawn atomic.Int64
	for i, s := range services {
		for range 3 {
			all.Go(func() {
				for ctx.Err() == nil {
					r := named(pool, fmt.Sprint("kept-", i, "-", drawn.Add(1)))
					_, _ = s.Draw(ctx, r)
					time.Sleep(drawPause) // nine callers do not need all processors
				}
			})
		}
	}
	return func() { cancel(); all.Wait() }
}

// testAgendaOfSoldOut: a pool that was recently sold out gives the units of its next
// item at once.
func testAgendaOfSoldOut(t *testing.T, a *arena) {
	pool := a.pool(t, 1)
	services := a.three(t)
	for i, s := range services {
		_ = receive(t, ask(t, s, named(pool, fmt.Sprint("first-", i))))
	}
	at := a.planOne(t, pool, func(at time.Time) draw.Item {
		return stocktest.StockAt(at, "a", 1000) // an earlier draw may arrive late and win, too
	})
	stop := a.keepSoldOut(t, services, pool, at.Add(-150*time.Millisecond))
	stocktest.Await(t, a.store(0), at)
	stop()
	for i, s := range services {
		r := named(pool, fmt.Sprint("own-", i))
		r.Named = false
		got := receive(t, ask(t, s, r))
		require.NoError(t, got.err, "instance %d", i)
	}
	stocktest.NoViolations(t, a.store(0), pool)
}

// keepSoldOut makes draws at every instance until a time. So each instance sees
// repeatedly that the pool is sold out.
func (a *arena) keepSoldOut(t *testing.T, services []*service, pool string, until time.Time) (wait func()) {
	var all sync.WaitGroup
	for i, s := range services {
		all.Go(func() {
			for n := 0; a.store(0).Now().Before(until); n++ {
				r := named(pool, fmt.Sprint("sold-", i, "-", n))
				r.Named = false
				_, _ = s.Draw(t.Context(), r)
				time.Sleep(drawPause)
			}
		})
	}
	return all.Wait
}

// TestAgendaOfThousands: ten thousand items become due within one second. Draws are made
// at three instances, and one of the three is interrupted repeatedly. Each item is
// carried out once and in order, the stock adds up, and a draw after all items wins.
//
// By default it plans a tenth of them; `make test-all` plans all.
func TestAgendaOfThousands(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		for _, mode := range []string{lockmode.ForUpdate, lockmode.Optimistic} {
			items := 1000
			if servertest.Every() {
				items = 10_000
			}
			t.Run(mode+" on "+dialect, func(t *testing.T) {
				t.Parallel()
				a := newArena(t, cell{mode: mode, dialect: dialect})
				pool := a.pool(t, 50, 1)
				from := a.planThousands(t, pool, items)
				services := a.three(t)
				stocktest.Await(t, a.store(0), from.Add(-drawnBefore))
				stop := a.keepDrawing(t, services, pool)
				stocktest.Await(t, a.store(0), from.Add(time.Second))
				var all sync.WaitGroup
				for i := range instances {
					all.Go(func() { a.runAll(t, i, pool) })
				}
				all.Wait()
				stop()
				a.checkThousands(t, services, pool, items)
			})
		}
	}
}

// planThousands plans items whose times are within one second. It returns the beginning
// of that second.
func (a *arena) planThousands(t *testing.T, pool string, n int) time.Time {
	t.Helper()
	for lead := 5 * time.Second; ; lead *= 2 {
		from := a.store(0).Now().Add(lead).Truncate(time.Second)
		planned := make([]draw.Item, n)
		for i := range planned { // not in the order of their times
			at := from.Add(time.Duration(i*7919%n) * time.Second / time.Duration(n))
			planned[i] = stocktest.StockAt(at, string(rune('a'+i%2)), 1)
		}
		_, err := a.store(0).PlanItems(t.Context(), pool, planned, "salt", "test")
		if draw.CodeOf(err) == draw.CodeInvalidRequest && lead < time.Minute {
			continue // planning took longer than the lead time
		}
		require.NoError(t, err)
		return from
	}
}

// runAll carries out the due items on one instance until none is due. The last instance
// is interrupted each time.
func (a *arena) runAll(t *testing.T, i int, pool string) {
	for n := 1; a.open(t, pool); n++ {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if i == instances-1 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(n%20)*time.Millisecond)
		}
		_ = a.store(i).RunAllDue(ctx) // the error does not matter; the rows are checked
		cancel()
	}
}

// open reports whether items are open.
func (a *arena) open(t *testing.T, pool string) bool {
	found, err := a.store(0).Agenda(t.Context(), pool, 0, 1, true)
	return err != nil && t.Context().Err() == nil || len(found) > 0
}

func (a *arena) checkThousands(t *testing.T, services []*service, pool string, n int) {
	t.Helper()
	items, err := a.store(0).Agenda(t.Context(), pool, 0, 2*n, false)
	require.NoError(t, err)
	require.Len(t, items, n)
	byVersion := map[int64]draw.Item{}
	for _, i := range items {
		byVersion[i.Done] = i
	}
	require.Len(t, byVersion, n, "each item is an entry of its own")
	moves, err := a.store(0).Moves(t.Context(), pool, 0, 2*n)
	require.NoError(t, err)
	require.Len(t, moves, n+2, "each once, behind the two of the new pool")
	var last draw.Item
	for _, m := range moves[2:] {
		item := byVersion[m.Version]
		require.Equal(t, item.Stock.PrizeID, m.PrizeID)
		require.False(t, m.At.Before(item.At), "done before its time")
		require.True(t, last.At.Before(item.At) || last.At.Equal(item.At) && last.Number < item.Number, "out of order")
		last = item
	}
	found, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	require.EqualValues(t, n+51, found.Prizes[0].Stocked+found.Prizes[1].Stocked)
	require.NoError(t, receive(t, ask(t, services[0], named(pool, "behind"))).err)
	lawful(t, a.store(0), pool)
}

// TestAgendaCondemnsALateTicker: a broken double hides the time of the next item from
// draws, like a service that leaves the agenda to its ticker. The audit reports the
// draws that came before a due item.
func TestAgendaCondemnsALateTicker(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "sqlite"})
	pool := a.pool(t, 100_000)
	at := a.planOne(t, pool, func(at time.Time) draw.Item { return stocktest.StateAt(at, draw.StatePaused) })
	stocktest.ExecAll(t, a.store(0), []string{`UPDATE pools SET due_at = NULL`})
	services := a.three(t)
	stocktest.Await(t, a.store(0), at)
	require.NoError(t, receive(t, ask(t, services[0], named(pool, "late"))).err)
	stocktest.ExecAll(t, a.store(0), []string{`UPDATE pools SET due_at = (SELECT at FROM agenda)`})
	require.NoError(t, a.store(0).RunAllDue(t.Context()))
	audit, err := a.store(0).Audit(t.Context(), pool)
	require.NoError(t, err)
	require.Len(t, audit.Violations, 1)
	require.Equal(t, "due-missed", audit.Violations[0].Rule)
}
