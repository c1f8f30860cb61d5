package lockmode_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
)

// answer is the result of a Draw.
type answer struct {
	draw draw.Draw
	err  error
}

// ask draws in the background, and repeats while the service is busy.
func ask(t *testing.T, s *service, r draw.Request) <-chan answer {
	to := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	go func() {
		defer cancel()
		d, err := insist(ctx, []*service{s}, r, nil)
		to <- answer{d, err}
	}()
	return to
}

// receive takes from a channel, or fails if nothing arrives.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// named returns a draw of one unit with a caller's key.
func named(poolID, id string) draw.Request {
	return draw.Request{PoolID: poolID, UserID: "u", DrawID: id, Named: true, Count: 1}
}

// meeting is the result of two draws on one pool. The first was held between its picks
// and its write, while the second was requested.
type meeting struct {
	// overtook means that the second draw was answered while the first was held.
	overtook bool
	// written is the result of the held write.
	written       error
	first, second answer
	violations    error
}

// meet makes a meeting of two services on a pool with the given units.
func meet(t *testing.T, a *arena, units int64, first, second *service, stop *door) meeting {
	t.Helper()
	return meetOn(t, a, a.pool(t, units), letsIn(a.cell), first, second, stop)
}

// meetOn makes a meeting on a pool. lets states whether a second draw can begin while
// the first is under way.
func meetOn(t *testing.T, a *arena, pool string, lets bool, first, second *service, stop *door) meeting {
	t.Helper()
	t.Cleanup(stop.release)
	var m meeting
	held := ask(t, first, named(pool, "first"))
	receive(t, stop.arrived)
	begun, once := make(chan struct{}), sync.Once{}
	second.seen.issuing = func(string) func() {
		once.Do(func() { close(begun) })
		return func() {}
	}
	other := ask(t, second, named(pool, "second"))
	receive(t, begun)
	// If the mode makes the second draw wait, the test allows only a short time for it to
	// begin. Otherwise it waits as long as needed.
	window := 150 * time.Millisecond
	if lets {
		window = patience
	}
	select {
	case m.second = <-other:
		m.overtook = true
	case <-time.After(window):
	}
	stop.release()
	m.written = receive(t, stop.written)
	m.first = receive(t, held)
	if !m.overtook {
		m.second = receive(t, other)
	}
	m.violations = audited(t, a.store(0), pool)
	return m
}

// letsIn reports whether, with the cell's mode and lock, a draw can begin while another
// is under way. The write then decides which is first.
func letsIn(c cell) bool { return c.mode == lockmode.Optimistic || c.lock == nobody }

// keepsOut reports whether the cell's mode and lock certainly exclude a second draw.
func keepsOut(c cell) bool {
	return c.mode == lockmode.ForUpdate || c.mode == lockmode.External && c.lock != nobody
}

// fresh returns an error if a meeting on a pool with the given units has a fault. Either
// the mode must have made the second draw wait, or the picks of the first draw must have
// been rejected.
func (m meeting) fresh(units int64) error {
	if m.overtook && m.written == nil {
		return errors.New("picks that were made before another draw was committed were written after it")
	}
	won := 0
	for _, a := range []answer{m.first, m.second} {
		switch draw.CodeOf(a.err) {
		case "":
			won++
		case draw.CodeSoldOut, draw.CodeLimitReached:
		default:
			return fmt.Errorf("a draw ended with %w", a.err)
		}
	}
	if int64(won) != min(2, units) {
		return fmt.Errorf("%d of two draws won, there were %d units", won, units)
	}
	if m.overtook && m.second.err != nil || !m.overtook && m.first.err != nil {
		return errors.New("the one that was written first should have won")
	}
	return m.violations
}

func testFresh(t *testing.T, a *arena) { testFreshOf(t, a, 100) }

// testFreshAtTheLast: both draws pick the same unit, and one gets it.
func testFreshAtTheLast(t *testing.T, a *arena) { testFreshOf(t, a, 1) }

// testFreshCounted: both draws are of one user who has one turn left. On SQLite, the
// transaction that writes also reads the turns, and excludes other writers.
func testFreshCounted(t *testing.T, a *arena) {
	pool := a.ruled(t, 50, 50, `{"fallback":"none","limits":[{"of":"draws","max":1}]}`)
	testFreshOn(t, a, pool, 1, letsIn(a.cell) && a.dialect != "sqlite")
}

func testFreshOf(t *testing.T, a *arena, units int64) {
	testFreshOn(t, a, a.pool(t, units), units, letsIn(a.cell))
}

func testFreshOn(t *testing.T, a *arena, pool string, units int64, lets bool) {
	stop := newDoor()
	first, second := a.serve(t, 0, applying(stop.then(applied))), a.serve(t, 1)
	m := meetOn(t, a, pool, lets, first, second, stop)
	require.NoError(t, m.fresh(units))
	if lets {
		require.True(t, m.overtook)
		require.Error(t, m.written)
	}
	if keepsOut(a.cell) || !lets && letsIn(a.cell) {
		require.False(t, m.overtook)
		require.NoError(t, m.written)
	}
	if lets && a.lock == nobody && a.mode == lockmode.External {
		drain(t, first.Batcher)
		first.seen.in(func() {
			require.Positive(t, first.seen.stale, "a later holder has written, so the first must take the lock again")
		})
	}
}
