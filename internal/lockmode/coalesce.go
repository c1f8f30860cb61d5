package lockmode

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/fault"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// coalescer lets small batches of several pools share transactions if the store can: it
// is group commit across pools. Without it, if a thousand pools had few draws each, every
// draw would need two round trips and a commit. A batch is committed by itself if it is
// large, if no other small batch is under way, or if a shared transaction left it out. A
// shared transaction waits for no row, so that no batch waits for the row of another
// pool.
type coalescer struct {
	decider *decider
	sharer  Sharer
	options stock.TxOptions

	mu sync.Mutex
	// alone counts the small batches that are being decided by themselves.
	alone   int
	waiting []*entry
	groups  int
}

// entry is a batch that waits for its shared transaction to end.
type entry struct {
	batch *group.Batch
	done  chan struct{}
}

const (
	// smallMax is the maximum number of draws in a batch that joins others: a larger
	// batch has enough draws for a transaction of its own.
	smallMax = 16
	// aloneMax is how many small batches are decided by themselves before others join.
	aloneMax = 1
	// groupsMax is how many shared transactions run at once: one can be decided while
	// another commits.
	groupsMax = 2
	// entriesMax is the maximum number of batches in one shared transaction.
	entriesMax = 256
)

func newCoalescer(d *decider, s Sharer, o stock.TxOptions) *coalescer {
	return &coalescer{decider: d, sharer: s, options: o}
}

// join attempts b in a shared transaction if b is small and other batches are under way.
// wasShared means that it did; then b may be settled. Otherwise b is to be decided by
// itself. leave must be called at the end.
func (c *coalescer) join(b *group.Batch) (leave func(), wasShared bool) {
	none := func() {}
	if b.Draws() > smallMax || !b.IsPlain() || b.CountsUsers() || c.sharer == nil || !c.sharer.CanShare() {
		return none, false
	}
	if c.enter() {
		return c.leave, false
	}
	if c.wait(b); !b.IsSettled() {
		b.TopUp()
	}
	return none, true
}

// enter reports whether a small batch may be decided by itself. If so, leave must be
// called after it.
func (c *coalescer) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone >= aloneMax {
		return false
	}
	c.alone++
	return true
}

func (c *coalescer) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alone--
}

// wait waits until a shared transaction with b has ended.
func (c *coalescer) wait(b *group.Batch) {
	e := &entry{batch: b, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, e)
	if c.groups < groupsMax {
		c.groups++
		go c.work()
	}
	c.mu.Unlock()
	<-e.done
}

// work attempts one group of waiting batches after another, until no batch waits.
func (c *coalescer) work() {
	for {
		entries := c.take()
		if len(entries) == 0 {
			return
		}
		c.attempt(entries)
		for _, e := range entries {
			close(e.done)
		}
	}
}

// take returns the batches that wait. If none wait, it ends the work of this goroutine.
func (c *coalescer) take() []*entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.waiting), entriesMax)
	if n == 0 {
		c.groups--
		return nil
	}
	entries := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	return entries
}

// planned is a batch with its plan, which is nil once it is finished.
type planned struct {
	batch *group.Batch
	plan  *urn.Plan
}

// attempt runs one shared transaction. Each batch that it does not settle is unchanged,
// or is in doubt.
func (c *coalescer) attempt(entries []*entry) {
	var all []*planned
	defer func() {
		if v := recover(); v != nil { // each batch is then attempted alone, and gets its own answer
			pools, requests := namesOf(entries)
			c.decider.log.Error("a shared transaction panicked", "pools", pools, "requests", requests, "error", fmt.Errorf("panic: %v", v))
			for _, p := range all {
				if p.plan != nil && !p.batch.IsSettled() {
					p.batch.InDoubt(p.plan)
				}
			}
			for _, e := range entries {
				if !e.batch.IsSettled() {
					e.batch.Urn.Invalidate()
				}
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), c.decider.settle)
	defer cancel()
	began := time.Now()
	err := c.decideAll(ctx, entries, &all)
	c.decider.observe(reasonOf(err), began, err)
	reportAttempt(entries, began, err)
	if err != nil {
		pools, requests := namesOf(entries)
		level := slog.LevelWarn
		if c.decider.givenUp.isOpen.Load() { // while batches fail by themselves too, the log has only sums
			level = slog.LevelDebug
		}
		c.decider.log.Log(context.Background(), level, "a shared transaction failed, its batches are attempted alone",
			"batches", len(entries), "pools", pools, "requests", requests, "error", err)
	}
}

// leftOut is the reason for attempting a batch alone, although the shared transaction did
// not fail.
const leftOut = "left-out"

// reportAttempt reports a shared transaction to the batches that waited for it.
func reportAttempt(entries []*entry, began time.Time, err error) {
	for _, e := range entries {
		failure := ""
		if !e.batch.IsSettled() {
			failure = cmp.Or(failureOf(err), leftOut)
		}
		e.batch.Attempted(began, failure, failure != "")
	}
}

// namesOf returns the first pools and requests of batches, for the log.
func namesOf(entries []*entry) (pools, requests []string) {
	for _, e := range entries {
		if len(pools) < namesMax {
			pools = append(pools, e.batch.Urn.PoolID)
		}
		requests = append(requests, e.batch.RequestIDs(namesMax-len(requests))...)
	}
	return pools, requests
}

func (c *coalescer) decideAll(ctx context.Context, entries []*entry, all *[]*planned) error {
	joining := make([]stock.SharedPool, len(entries))
	for i, e := range entries {
		joining[i] = stock.SharedPool{Urn: e.batch.Urn, Keys: e.batch.Keys(), Cached: e.batch.Urn.IsCached()}
	}
	tx, ready, err := c.sharer.ReadShared(ctx, joining, c.options)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	now := c.decider.now() // one time for all
	for i, e := range entries {
		if !ready[i] || c.decider.resolve(e.batch.Urn.Mode) != c.decider.name {
			continue
		}
		e.batch.Urn.ClockLeapt, e.batch.Urn.CodesAway = c.decider.leapt(), c.decider.away(e.batch.Urn.PoolID)
		plan := planShared(e.batch, now, joining[i].Cached)
		if plan != nil && len(*all) > 0 && !plan.At.Equal((*all)[0].plan.At) {
			e.batch.Undo(plan) // one statement writes all batches, and it has one time
			continue
		}
		if plan != nil {
			*all = append(*all, &planned{e.batch, plan})
		}
	}
	if len(*all) == 0 {
		return nil
	}
	return c.writeAll(ctx, tx, *all)
}

func (c *coalescer) writeAll(ctx context.Context, tx stock.SharedTx, all []*planned) error {
	plans := make([]*urn.Plan, len(all))
	for i, p := range all {
		plans[i] = p.plan
	}
	fault.At(fault.BeforeWrite)
	written, err := tx.Write(ctx, plans)
	if err == nil {
		fault.At(fault.AfterCommit)
	}
	for i, p := range all {
		switch {
		case err == nil && written[i]:
			p.batch.Settle(p.plan)
		case stock.ClassOf(err) == stock.ClassUnknown || stock.ClassOf(err) == stock.ClassUnavailable:
			_ = c.decider.finish(p.batch, p.plan, err) // the error concerns all batches
		default: // a failure in one pool does not affect the others
			p.batch.Undo(p.plan)
		}
		p.plan = nil // set last: after a panic before this, the batch is in doubt
	}
	return err
}

// planShared plans a batch that can be granted or refused without a read. It returns nil
// in two cases. In the first, the log or the pool would have to be read, and the batch is
// left out. In the second, the batch needs no write and is settled.
func planShared(b *group.Batch, now time.Time, cached bool) *urn.Plan {
	decide := b.PlanPlain
	if cached {
		decide = b.PlanCached
	}
	plan := decide(now)
	switch {
	case plan == nil:
		return nil
	case !plan.IsPlain(): // the turns that rules count are written in a separate transaction
		b.Undo(plan)
		return nil
	case len(plan.Awards) == 0:
		b.Settle(plan)
		return nil
	}
	return plan
}
