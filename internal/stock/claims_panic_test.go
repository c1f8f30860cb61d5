package stock_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/http/problem"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestClaimAfterAPanic: if a claim panics inside its transaction, while the pool's head is
// locked, its caller gets 500. Nothing of it is written, and the next claims, of the same
// award and of another one, are served at once.
func TestClaimAfterAPanic(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := stocktest.Open(t, stocktest.Migrated(t, dialect), stock.Options{Log: slog.New(slog.DiscardHandler)})
			var panics atomic.Bool
			stored := s.Engine().Time
			s.Engine().Time = func(at time.Time) any { // of a step that is written
				if panics.Swap(false) {
					panic("a test")
				}
				return stored(at)
			}
			stocktest.Pool(t, s, "p", 6)
			r, err := rules.Parse([]byte(`{"claims":{}}`))
			require.NoError(t, err)
			_, err = s.SetRules(ctx, "p", r, nil, "test")
			require.NoError(t, err)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 3, "a", 0, "d0", "d1")))
			claim := func(n int) (draw.Draw, error) { return s.Claim(ctx, "p", fmt.Sprint("d", n), "u", 0, "test") }

			panics.Store(true)
			_, err = claim(0)
			require.False(t, panics.Load(), "the claim must panic, or this tests nothing")
			require.Equal(t, draw.CodeInternal, draw.CodeOf(err))
			require.Equal(t, 500, problem.Table()[draw.CodeOf(err)].Status)
			steps, err := s.StepsAfter(ctx, "p", 0, 100)
			require.NoError(t, err)
			require.Empty(t, steps)
			for n := range 2 {
				begun := time.Now()
				d, err := claim(n)
				require.NoError(t, err)
				require.False(t, d.Replayed)
				require.Less(t, time.Since(begun), 5*time.Second, "no lock is left")
			}
			stocktest.NoViolations(t, s, "p")
		})
	}
}
