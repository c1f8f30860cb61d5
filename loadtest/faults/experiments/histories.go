package experiments

import (
	"fmt"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// parted are pools of which the first instance knows a state that is lost, at a
// version to which another history comes as well. To draw from what it knows
// would be to draw from other units than there are.
type parted struct {
	t     *trial
	pools []string
}

const (
	partedPools = 8
	// partedBefore draws of each pool are made before the histories part,
	// partedLost versions in the one that is lost, and partedAfter draws in the
	// one that stays.
	partedBefore = 10
	partedLost   = 20
	partedAfter  = 40
	// withdrawn are most units of the first prize: the history that is lost has
	// other odds than the one that stays.
	withdrawn = 370
)

// part makes the pools, and lets the first instance draw from them.
func (t *trial) part() *parted {
	p := &parted{t: t}
	for n := range partedPools {
		name := t.Pool(fmt.Sprint("parted-", n))
		t.Must(t.MakePool(name, 400, 400))
		p.pools = append(p.pools, name)
	}
	t.Must(p.each(func(_ int, pool string) error { return p.draws(pool, 0, partedBefore) }))
	return p
}

// lose makes the history that is lost.
func (p *parted) lose() error {
	return p.each(func(_ int, pool string) error {
		move := history.Op{Kind: history.Stock, Pool: pool, Key: p.t.Key(), Prize: stage.PrizeNames()[0], Delta: -withdrawn, Client: 8000}
		if err := p.t.insist(move); err != nil {
			return err
		}
		return p.draws(pool, 0, partedLost-1)
	})
}

// goOn makes the history that stays: another instance draws to the version that
// the first one knows, or to some versions before it; then the first one draws.
func (p *parted) goOn() error {
	other := 1 % len(p.t.Instances)
	return p.each(func(n int, pool string) error {
		first := partedLost - n%4
		for _, part := range []struct{ instance, draws int }{{other, first}, {0, partedLost}, {other, partedAfter - partedLost - first}} {
			if err := p.draws(pool, part.instance, part.draws); err != nil {
				return err
			}
		}
		return nil
	})
}

// judge holds the pools against the law of a draw.
func (p *parted) judge() error { return p.t.judgeOdds(p.pools, partedBefore+partedAfter) }

// each runs fn for all pools at once.
func (p *parted) each(fn func(n int, pool string) error) error {
	var failed atomic.Pointer[error]
	client.Parallel(len(p.pools), func(n int) {
		if err := fn(n, p.pools[n]); err != nil {
			failed.Store(&err)
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// draws draws from a pool, one draw after another.
func (p *parted) draws(pool string, instance, n int) error {
	for _, o := range p.t.asking(pool, max(n, 0)) {
		o.Client, o.Instance = 8000, instance
		if err := p.t.insist(o); err != nil {
			return err
		}
	}
	return nil
}

// insistMax is the longest that somebody retries who is answered so.
const insistMax = 20 * time.Second

// insist asks with the same key until it is answered 200.
func (t *trial) insist(o history.Op) error {
	for until := time.Now().Add(insistMax); ; time.Sleep(50 * time.Millisecond) {
		answered := t.Send(t.Ctx, o)
		if answered.Won() {
			return nil
		}
		if answered.Refused() || time.Now().After(until) {
			return fmt.Errorf("it does not win: %s", &answered)
		}
	}
}
