package stock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/stocktest"
)

// TestSlowStatementIsNoSilence: with several hosts, the store does not leave a host
// because of a slow statement if the host answers. It leaves a host that does not answer.
func TestSlowStatementIsNoSilence(t *testing.T) {
	t.Parallel()
	slow := engine.Unavailable("connection", context.DeadlineExceeded, false)
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			first, second := servertest.StartProxy(t, url), servertest.StartProxy(t, url)
			second.Hold()
			url = strings.Replace(url, hostOf(t, url), first.Addr()+","+second.Addr(), 1)
			opened := func() (*stock.Store, *atomic.Int64) {
				s := stocktest.Open(t, url, stock.Options{})
				left, failOver := new(atomic.Int64), s.Engine().FailOver
				s.Engine().FailOver = func() { left.Add(1); failOver() }
				return s, left
			}
			s, left := opened()
			for range 3 {
				s.Engine().Observe(slow)
			}
			require.NoError(t, s.Close()) // the query has ended
			require.Zero(t, left.Load(), "the server answers")

			s, left = opened()
			first.Hold()
			s.Engine().Observe(slow)
			require.Eventually(t, func() bool { return left.Load() == 1 }, waitMax, tick)
			first.Pass()
		})
	}
}
