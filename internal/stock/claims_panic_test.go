package stock_test

import (
	"context"
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

// TestClaimAfterAPanic: if a claim panics inside its transaction, while the head of the
// pool's steps is locked, its caller gets 500, and nothing is written. The next claims,
// of the same award and of another one, are served at once.
func TestClaimAfterAPanic(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := stocktest.Open(t, stocktest.Migrated(t, dialect), stock.Options{Log: slog.New(slog.DiscardHandler)})
			lock := func() error { // fails while the head is locked, on SQLite while anything is written
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				_, err := s.LockDB().ExecContext(ctx, `UPDATE step_heads SET n = n WHERE pool_id = 'p'`)
				return err
			}
			var panics atomic.Bool
			var locked error
			stored := s.Engine().Time
			s.Engine().Time = func(at time.Time) any { // called for each step that is written
				if panics.Swap(false) {
					locked = lock()
					panic("a test")
				}
				return stored(at)
			}
			stocktest.Pool(t, s, "p", 6)
			r, err := rules.Parse([]byte(`{"claims":{}}`))
			require.NoError(t, err)
			_, err = s.SetRules(ctx, "p", r, nil, "test")
			require.NoError(t, err)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 3, "a", 0, "d0", "d1", "d2")))
			claim := func(n int) (draw.Draw, error) { return s.Claim(ctx, "p", fmt.Sprint("d", n), "u", 0, "test") }

			_, err = claim(2) // creates the head
			require.NoError(t, err)
			require.NoError(t, lock())
			panics.Store(true)
			_, err = claim(0)
			require.False(t, panics.Load(), "the claim must panic, or this tests nothing")
			require.Error(t, locked, "the head must be locked")
			require.Equal(t, draw.CodeInternal, draw.CodeOf(err))
			require.Equal(t, 500, problem.Table()[draw.CodeOf(err)].Status)
			steps, err := s.StepsAfter(ctx, "p", 0, 100)
			require.NoError(t, err)
			require.Len(t, steps, 1, "that of d2")
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
