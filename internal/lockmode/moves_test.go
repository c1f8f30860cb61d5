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
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock/stocktest"
)

// TestDrawsBesideMoves: an operator's tool that moves stock continuously, without an
// external lock, does not starve draws.
func TestDrawsBesideMoves(t *testing.T) {
	for _, c := range []cell{
		{mode: lockmode.Optimistic, dialect: "sqlite"}, {lockmode.External, "sqlite", "table"},
		{lockmode.External, "postgres", "table"}, {lockmode.External, "mysql", "row"},
	} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			pool := a.pool(t, 1000)
			s := a.serve(t, 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var moves, draws sync.WaitGroup
			for range 6 {
				moves.Go(func() { moveStock(ctx, t, a, pool) })
			}
			var won, contended atomic.Int64
			// The test lasts a second, and longer if that is too short for a meaningful
			// number of draws.
			time.AfterFunc(time.Second, func() {
				for won.Load()+contended.Load() < 100 && !t.Failed() && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				cancel()
			})
			for caller := range 8 {
				draws.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						_, err := s.Draw(context.Background(), named(pool, fmt.Sprint(caller, "-", n)))
						switch draw.CodeOf(err) {
						case "":
							won.Add(1)
						case draw.CodeContended:
							contended.Add(1)
						default:
							t.Error(err)
						}
					}
				})
			}
			moves.Wait()
			draws.Wait()
			t.Logf("%d draws won, %d contended", won.Load(), contended.Load())
			require.LessOrEqual(t, contended.Load(), won.Load()/10)
			stocktest.NoViolations(t, a.store(0), pool)
		})
	}
}

// moveStock adds a unit to the pool and removes it, until ctx ends.
func moveStock(ctx context.Context, t *testing.T, a *arena, pool string) {
	for n := 0; ctx.Err() == nil; n++ {
		w := draw.Stocking{PoolID: pool, PrizeID: "a", Delta: int64(1 - 2*(n%2)), Reason: "to and fro"}
		_, err := a.store(1).Stock(context.Background(), w, "test")
		if code := draw.CodeOf(err); code != "" && code != draw.CodeContended {
			t.Error(err)
		}
	}
}
