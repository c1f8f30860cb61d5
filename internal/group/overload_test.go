package group

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// cost is the time that a store takes for a batch. It varies at random; varies is the
// largest factor.
type cost struct {
	batch, each time.Duration
	varies      float64
}

func (c cost) of(draws int, random *rand.Rand) time.Duration {
	takes := float64(c.batch + time.Duration(draws)*c.each)
	return time.Duration(takes * math.Pow(c.varies, 2*random.Float64()-1))
}

// batchTimeMax ends a batch that takes longer, as the modes do.
const batchTimeMax = 4500 * time.Millisecond

// slowed returns a ledger that delays its writes. It gives up a batch that takes too
// long.
func slowed(c cost) *ledger {
	l := newLedger(poolOf("p", 1_000_000_000))
	random := rand.New(rand.NewPCG(1, 2))
	l.asked = func() { time.Sleep(c.batch) }
	l.before = func(p *urn.Plan) error {
		takes := c.of(len(p.Awards), random)
		time.Sleep(min(takes, batchTimeMax))
		if takes > batchTimeMax {
			return draw.Errorf(draw.CodeStoreUnavailable, "the batch took too long")
		}
		return nil
	}
	return l
}

// flood is a number of callers who draw repeatedly. Each waits for at most its time.
type flood struct {
	callers int
	// time is how long a caller waits. It is the batcher's limit unless isBlind is set.
	time    time.Duration
	isBlind bool
	// knownEvery means that every n-th draw has a key that the log holds; 0 means
	// never.
	knownEvery int64
	drawn      atomic.Int64

	mu    sync.Mutex
	codes map[draw.Code]int
}

const warmUp, counted = 15 * time.Second, 60 * time.Second

// goodput returns the number of draws per second that are answered in time.
func (f *flood) goodput(t *testing.T, c cost) float64 {
	f.codes = map[draw.Code]int{}
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{Timeout: f.time}
		if f.isBlind {
			limits.Timeout = time.Hour
		}
		b, _ := newTestBatcher(t, slowed(c), limits)
		start := time.Now()
		var group sync.WaitGroup
		for i := range f.callers {
			group.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
				for n := 0; time.Since(start) < warmUp+counted; n++ {
					f.draw(t, b, fmt.Sprint(i, "-", n), time.Since(start) > warmUp, random)
				}
			})
		}
		group.Wait()
	})
	return float64(f.codes[""]) / counted.Seconds()
}

func (f *flood) draw(t *testing.T, b *Batcher, key string, counts bool, random *rand.Rand) {
	ctx, cancel := t.Context(), func() {}
	if f.isBlind {
		ctx, cancel = context.WithTimeout(ctx, f.time)
	}
	defer cancel()
	if n := f.drawn.Add(1); f.knownEvery > 0 && n%f.knownEvery == 0 {
		key = "0-0"
	}
	_, err := b.Draw(ctx, named(key))
	if counts {
		f.mu.Lock()
		f.codes[draw.CodeOf(err)]++
		f.mu.Unlock()
	}
	if e, ok := errors.AsType[*draw.Error](err); ok {
		time.Sleep(max(e.RetryAfter, time.Second) + time.Duration(random.Int64N(int64(time.Second))))
	}
}

// TestGoodputUnderOverload: for any number of callers, the queue decides nearly as many
// draws in time as at its best.
func TestGoodputUnderOverload(t *testing.T) {
	for name, c := range map[string]struct {
		cost
		knownEvery int64
	}{
		"each draw costs":               {cost{5 * time.Millisecond, 5 * time.Millisecond, 1}, 0},
		"a whole batch takes too long":  {cost{20 * time.Millisecond, 20 * time.Millisecond, 1}, 0},
		"each batch costs":              {cost{time.Second, time.Millisecond, 1}, 0},
		"costs vary":                    {cost{20 * time.Millisecond, 5 * time.Millisecond, 2}, 0}, // the slowest batch takes four times the fastest
		"large batches hold known keys": {cost{5 * time.Millisecond, 5 * time.Millisecond, 1}, 300},
	} {
		t.Run(name, func(t *testing.T) {
			best := 0.0
			for _, callers := range []int{50, 400, 1500, 4000} {
				f := &flood{callers: callers, time: 5 * time.Second, knownEvery: c.knownEvery}
				got := f.goodput(t, c.cost)
				t.Logf("%d callers: %.0f/s %v", callers, got, f.codes)
				best = max(best, got)
				require.GreaterOrEqual(t, got, 0.8*best)
			}
			blind := &flood{callers: 4000, time: 5 * time.Second, isBlind: true}
			got := blind.goodput(t, c.cost)
			t.Logf("first in, first out: %.0f/s %v", got, blind.codes)
			require.Less(t, got, 0.5*best, "the queue that does not see its callers' time is caught")
		})
	}
}
