package lockmode_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// race measures the order of wins when several instances compete. They decide one draw at
// a time, and draw the first tenth of pools with prizes of 90, 9 and 1 %.
type race struct {
	*arena
	// pools is the number of pools that are drawn from, and units is the number of units
	// of each.
	pools, units int
	// write, if set, replaces the Apply of every attempt.
	write apply
	// meet makes instances pick in groups before any pick is written.
	meet bool
}

const (
	// rivals is the number of instances that contend for a pool.
	rivals = 12
	// together is how many picks are made before any of them is written, if the mode
	// allows that many. The higher it is, the fewer wins are needed to detect a favoured
	// prize.
	together = 10
	// further is the number of draws beyond the wins that are counted. They keep every
	// caller busy until the last of these wins, so that all instances compete until then.
	further = callers + 2*rivals
	// poolsAtOnce is the number of pools that are drawn from at once. It is small, so
	// that the callers of one pool do not wait for too many others.
	poolsAtOnce = 4
)

// unlocked prevents the last attempt of optimistic instances. That attempt holds the
// pool's row, so instances would not compete.
func unlocked(s *settings) { s.OptimisticAttempts, s.OptimisticBudget = 1000, patience }

// results of a race.
type results struct {
	samples []drawtest.Sample
	// met counts the batches that began while another instance decided a batch of the
	// same pool. retries counts the attempts that lost.
	met, retries int
}

func (r race) run(t *testing.T) results {
	t.Helper()
	met := &meetings{under: map[string]int{}}
	var services []*service
	tamper := r.tamper() // picks of several instances meet
	for i := range rivals {
		s := r.serve(t, i, oneByOne, tamper, unlocked)
		s.seen.issuing = met.enter
		services = append(services, s)
	}
	stock := []int64{int64(r.units) * 90 / 100, int64(r.units) * 9 / 100, int64(r.units) / 100}
	got := results{samples: make([]drawtest.Sample, r.pools)}
	var all sync.WaitGroup
	turns := make(chan struct{}, poolsAtOnce)
	for i := range got.samples {
		pool := r.pool(t, stock...)
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			asked := r.units/10 + further
			y := storm{services: services, poolID: pool, prefix: "o", asked: asked, stay: true}.run(t)
			if len(y.won) != asked {
				t.Errorf("%d draws of %d were won: %v", len(y.won), asked, y.codes())
			}
			if err := audited(t, r.store(0), pool); err != nil {
				t.Error(err)
			}
			got.samples[i] = drawtest.Sample{Wins: firstWins(t, r.store(0), pool, r.units/10), Stock: stock}
		})
	}
	all.Wait()
	got.met = int(met.met.Load())
	for _, s := range services {
		drain(t, s.Batcher)
		s.seen.in(func() { got.retries += s.seen.retries["version"] })
	}
	return got
}

// firstWins counts the first wins of a pool's log by their prizes a, b and c.
func firstWins(t *testing.T, s *stock.Store, poolID string, n int) []int64 {
	awards, err := s.Awards(t.Context(), poolID, 0, n)
	if err != nil {
		t.Error(err) // not on the test's goroutine
	}
	wins := make([]int64, 3)
	for _, a := range awards {
		wins[a.PrizeID[0]-'a']++
	}
	return wins
}

// tamper makes draws of one pool wait after their picks until several have picked, as
// long as wins are counted.
func (r race) tamper() edit {
	write := r.write
	if write == nil {
		write = applied
	}
	if !r.meet {
		return applying(write)
	}
	var mu sync.Mutex
	places := map[string]*rendezvous{}
	return applying(func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		mu.Lock()
		place := places[p.PoolID]
		if place == nil {
			place = &rendezvous{size: together, patience: 3 * time.Second}
			places[p.PoolID] = place
		}
		mu.Unlock()
		if p.From.Version < int64(r.units/10) {
			place.meet()
		} else {
			place.open()
		}
		return write(ctx, tx, p)
	})
}

// meetings counts the batches that are under way at the same time as others of their
// pool.
type meetings struct {
	mu    sync.Mutex
	under map[string]int
	met   atomic.Int64
}

func (m *meetings) enter(poolID string) (back func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.under[poolID]++; m.under[poolID] > 1 {
		m.met.Add(1)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.under[poolID]--
	}
}

// TestLaw: the next prize depends only on the units that remain, also when draws contend.
// So the first tenth of a pool contains as many rare prizes as a random order would.
//
// The test rejects draws that keep the law with probability 1e-9 at most; package
// drawtest explains why. Every time, it rejects a broken double with a version per prize.
// If ten instances pick from one state, that double lets each prize that was picked win
// once, whatever its share. That gave the 9 % prize 30 to 32 % of the wins, and the 1 %
// prize 5 to 6 %. In six races of 400 wins each with a database, G was 187 to 204, with a
// standard deviation of 17. That is at least seven deviations above the bound of 57.
func TestLaw(t *testing.T) {
	for _, c := range cells() {
		if c.lock != "" && c.lock != "table" {
			continue // locks determine which draw comes first, but not what it picks
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			r := race{arena: newArena(t, c), pools: 1, units: 4000, meet: c.mode == lockmode.Optimistic}
			if c.dialect == "sqlite" {
				r.pools, r.units = 2, 2000
			}
			got := r.run(t)
			draws := r.pools * r.units / 10
			t.Logf("%d wins counted, %d met, %d retries, %s", draws, got.met, got.retries, shares(got.samples))
			require.NoError(t, drawtest.Judge(got.samples...))
			require.Greater(t, got.met, draws/20, "the instances contended")
			if r.meet {
				require.Greater(t, got.retries, draws, "most picks came too late, and were made again")
			}
		})
	}
}

// TestLawCondemnsAVersionPerPrize: a race with a broken double that guards each prize
// separately is rejected by the same check.
func TestLawCondemnsAVersionPerPrize(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	a := optimisticOnSQLite(t)
	got := race{arena: a, pools: 2, units: 2000, meet: true, write: perPrize(a.store(0).LockDB())}.run(t)
	t.Logf("%d retries, %s", got.retries, shares(got.samples))
	require.Error(t, drawtest.Judge(got.samples...))
}

// shares returns each prize's share of the wins.
func shares(samples []drawtest.Sample) string {
	var wins [3]float64
	var all float64
	for _, s := range samples {
		for i, n := range s.Wins {
			wins[i] += float64(n)
			all += float64(n)
		}
	}
	return fmt.Sprintf("%.1f %%, %.1f %%, %.1f %%", 100*wins[0]/all, 100*wins[1]/all, 100*wins[2]/all)
}
