package lockmode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock"
)

// joiner lets small batches of several pools share transactions, where the
// store can: a thousand pools that are drawn from a little would otherwise pay
// two round trips and a commit for each draw. A pool that is drawn from alone,
// or a lot, goes its own way, and so does every batch that a joint transaction
// left out: that one waits for no row, so that nobody waits for a stranger's.
type joiner struct {
	trier   *trier
	options stock.TxOptions

	mu sync.Mutex
	// alone counts the small batches that go their own way just now.
	alone   int
	waiting []*seat
	groups  int
}

// seat is a batch that waits for a joint transaction to have tried it.
type seat struct {
	batch *draw.Batch
	tried chan struct{}
}

const (
	// smallMax is the most draws of a batch that joins others: a larger one
	// has enough to share its own transaction.
	smallMax = 16
	// aloneMax is how many small batches are decided by themselves before
	// others join.
	aloneMax = 1
	// groupsMax is how many joint transactions are at work at once: while one
	// commits, another is decided.
	groupsMax = 2
	// seatsMax is the most batches of one joint transaction.
	seatsMax = 256
)

func newJoiner(t *trier, o stock.TxOptions) *joiner { return &joiner{trier: t, options: o} }

// decide decides b as trier.decide does, after a try together with others
// where there are any.
func (j *joiner) decide(ctx context.Context, b *draw.Batch) error {
	if b.Draws() <= smallMax && b.IsUntried() && j.trier.store.Joins() {
		if !j.enter() {
			if j.sit(b); b.IsSettled() {
				return nil
			}
		} else {
			defer j.leave()
		}
	}
	return j.trier.decide(ctx, b, j.options)
}

// enter says that a small batch may go its own way; leave follows.
func (j *joiner) enter() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.alone >= aloneMax {
		return false
	}
	j.alone++
	return true
}

func (j *joiner) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.alone--
}

// sit waits until a joint transaction has tried b.
func (j *joiner) sit(b *draw.Batch) {
	s := &seat{batch: b, tried: make(chan struct{})}
	j.mu.Lock()
	j.waiting = append(j.waiting, s)
	if j.groups < groupsMax {
		j.groups++
		go j.work()
	}
	j.mu.Unlock()
	<-s.tried
}

// work tries group after group until nobody waits.
func (j *joiner) work() {
	for {
		seats := j.take()
		if len(seats) == 0 {
			return
		}
		j.try(seats)
		for _, s := range seats {
			close(s.tried)
		}
	}
}

// take returns those who wait; when there are none, the group is over.
func (j *joiner) take() []*seat {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.waiting), seatsMax)
	if n == 0 {
		j.groups--
		return nil
	}
	seats := j.waiting[:n:n]
	j.waiting = j.waiting[n:]
	return seats
}

// group is one joint transaction: the batches that it holds, and their plans.
type group struct {
	batches []*draw.Batch
	plans   []*draw.Plan
}

// try is one joint transaction. Batches that it does not settle are as if it
// had not been, or know that they have to look.
func (j *joiner) try(seats []*seat) {
	var g group
	defer func() {
		if v := recover(); v != nil { // alone, each will be answered for itself
			j.trier.log.Error("a joint try panicked", "error", fmt.Errorf("panic: %v", v))
			g.unsure()
			for _, s := range seats {
				if !s.batch.IsSettled() {
					s.batch.Urn.Reset()
				}
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), j.trier.settle)
	defer cancel()
	began := time.Now()
	err := j.decideAll(ctx, seats, &g)
	j.trier.observer.Tried(j.trier.name, reasonOf(err), time.Since(began))
	if err != nil {
		j.trier.log.Warn("a joint try failed, its batches are tried alone", "batches", len(seats), "error", err)
	}
}

func (j *joiner) decideAll(ctx context.Context, seats []*seat, g *group) error {
	all := make([]stock.Joining, len(seats))
	for i, s := range seats {
		all[i] = stock.Joining{Urn: s.batch.Urn, Keys: s.batch.Keys(), Remembered: s.batch.IsRemembered()}
	}
	joint, ready, err := j.trier.store.BeginJoint(ctx, all, j.options)
	if err != nil {
		return err
	}
	defer joint.Rollback()
	now := time.Now() // one for all
	for i, s := range seats {
		if ready[i] && j.trier.resolve(s.batch.Urn.Mode) == j.trier.name {
			g.plan(ctx, s.batch, now, all[i].Remembered)
		}
	}
	if len(g.plans) == 0 {
		return nil
	}
	fault.At(fault.BeforeWrite)
	applied, err := joint.Apply(ctx, g.plans)
	if err == nil {
		fault.At(fault.AfterCommit)
	}
	for len(g.plans) > 0 {
		b, p := g.pop()
		switch {
		case err != nil:
			j.trier.undo(b, p, err)
		case applied[len(g.plans)]:
			b.Settle(p)
		default:
			b.Undo(p)
			b.Urn.Confirmed = 0 // look, when alone
		}
	}
	return err
}

// plan plans b, and settles it when nothing has to be written. A batch that
// would have to look, at the log or at what is only remembered of the pool, is
// left out.
func (g *group) plan(ctx context.Context, b *draw.Batch, now time.Time, remembered bool) {
	plan, err := planOf(ctx, b, now, remembered, noLook)
	switch {
	case err != nil:
		b.Urn.Confirmed = 0
	case len(plan.Awards) == 0:
		b.Settle(plan)
	default:
		g.batches, g.plans = append(g.batches, b), append(g.plans, plan)
	}
}

// pop takes the last batch and its plan out of the group.
func (g *group) pop() (*draw.Batch, *draw.Plan) {
	n := len(g.plans) - 1
	b, p := g.batches[n], g.plans[n]
	g.batches, g.plans = g.batches[:n], g.plans[:n]
	return b, p
}

// unsure gives back plans of which nobody knows how far they came.
func (g *group) unsure() {
	for len(g.plans) > 0 {
		b, p := g.pop()
		b.Unsure(p)
	}
}
