package lockmode_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/stocktest"
)

// testClockLeapt: while the database's clock has leapt, pools with rules or an agenda
// give no new draws, and known keys are answered. Draws from other pools continue.
func testClockLeapt(t *testing.T, a *arena) {
	ruled, planned, plain := a.ruled(t, 500, 500, `{"fallback":"none","limits":[{"of":"draws","max":1000}]}`), a.pool(t, 100), a.pool(t, 100)
	stocktest.PlanAll(t, a.store(0), planned, stocktest.StockAt(a.store(0).Now().Add(time.Hour), "a", 1))
	var leapt atomic.Bool
	for i, s := range a.three(t, func(s *settings) {
		s.ClockLeapt = func() error {
			if leapt.Load() {
				return draw.Errorf(draw.CodeClockLeapt, "it has")
			}
			return nil
		}
	}) {
		name := func(of string) string { return of + "-" + string(rune('a'+i)) }
		leapt.Store(false)
		for _, pool := range []string{ruled, planned} {
			require.NoError(t, receive(t, ask(t, s, named(pool, name("known")))).err)
		}
		leapt.Store(true)
		for _, pool := range []string{ruled, planned} {
			require.Equal(t, draw.CodeClockLeapt, draw.CodeOf(receive(t, ask(t, s, named(pool, name("new")))).err))
			again := receive(t, ask(t, s, named(pool, name("known"))))
			require.NoError(t, again.err)
			require.True(t, again.draw.Replayed)
		}
		require.NoError(t, receive(t, ask(t, s, named(plain, name("new")))).err)
		leapt.Store(false)
		for _, pool := range []string{ruled, planned} {
			require.NoError(t, receive(t, ask(t, s, named(pool, name("new")))).err)
		}
	}
}
