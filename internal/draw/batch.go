package draw

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Batch is the draws of one pool that are decided together, in order of their
// arrival. A mode plans it, writes the plan and settles it; when the plan was
// not written, it undoes it and may plan again. What the log says of a draw is
// a fact on that draw, which every plan asks for anew.
type Batch struct {
	// Urn is the cached copy of the pool.
	Urn *Urn

	queue   *queue
	waiters []*waiter
	phase   phase
	// planned is when the last plan was made, right after the urn was read.
	planned time.Time
	// waited is how long the first of the draws waited to be taken.
	waited time.Duration
	// stockings is the queue's count when the batch was gathered.
	stockings int64
	mode      atomic.Pointer[string]
}

// phase is how far a batch has come.
type phase int

const (
	// open: no write of the batch can have been committed.
	open phase = iota
	// inDoubt: a write of the batch may have been committed.
	inDoubt
	// settled: every draw of the batch has its answer.
	settled
)

// Draws is the number of draws in the batch.
func (b *Batch) Draws() int { return len(b.waiters) }

// Next replaces a settled batch by the draws that wait now. It returns false
// when there are none, or when the batch is not settled.
func (b *Batch) Next() bool { return b.phase == settled && b.queue.take(b) }

// TopUp adds the draws that have come since the batch was taken: while it
// waited for its turn, many may have. A batch in doubt stays as it is.
func (b *Batch) TopUp() {
	if b.phase == open {
		b.queue.topUp(b)
	}
}

// Mode is the name of the mode that decides the pool's batches, "" before the
// first.
func (b *Batch) Mode() string {
	if name := b.mode.Load(); name != nil {
		return *name
	}
	return ""
}

// SetMode notes the name of the mode that decides the batch.
func (b *Batch) SetMode(name string) {
	if b.Mode() != name {
		b.mode.Store(&name)
	}
}

// fill starts the batch anew with other waiters.
func (b *Batch) fill(waiters []*waiter) {
	clear(b.waiters)
	b.waiters = append(b.waiters[:0], waiters...)
	b.phase = open
}

// IsSettled says that every draw of the batch has its answer.
func (b *Batch) IsSettled() bool { return b.phase == settled }

// IsInDoubt says that a write of this batch may have been committed.
func (b *Batch) IsInDoubt() bool { return b.phase == inDoubt }

// IsPlain says that the batch's pool was read before, and that no draw of it
// has to be looked up in the log before it is planned.
func (b *Batch) IsPlain() bool {
	return b.phase == open && b.Urn.Version > 0 && !slices.ContainsFunc(b.waiters, func(w *waiter) bool { return w.mustAsk })
}

// doubt says that writes of the batch may have been committed: every draw is
// looked up before it is planned again, and nobody joins the batch.
func (b *Batch) doubt() {
	b.phase = inDoubt
	for _, w := range b.waiters {
		w.mustAsk = true
	}
}

// Undo puts the units of a plan that wrote nothing back into the urn. Its
// draws wait again and may be withdrawn.
func (b *Batch) Undo(p *Plan) {
	p.putBack()
	for _, w := range b.waiters {
		if len(w.tried) == 0 {
			w.state.CompareAndSwap(planned, waiting)
		}
	}
}

// InDoubt is Undo for a plan that may have been committed all the same: the
// log tells at the next read.
func (b *Batch) InDoubt(p *Plan) {
	p.putBack()
	for i, w := range b.waiters {
		if o := p.outcomes[i]; o.end > o.first {
			w.tried = append(w.tried, p.Awards[o.first])
		}
	}
	b.doubt()
}

// Plan decides every draw of the batch against the urn, one after another in
// order of arrival: a known key gets its first awards, a draw that the urn
// covers gets units of it, any other is refused. Nothing is answered before
// Settle. The pool was read just before. The log is asked only where it must
// be: after a write that met a known key or was left in doubt, and before a
// named draw is refused, because a known key is answered whatever the pool's
// state or stock is by now (law 4).
func (b *Batch) Plan(ctx context.Context, now time.Time, lookUp LookUp) (*Plan, error) {
	b.forgetLog()
	if slices.ContainsFunc(b.waiters, func(w *waiter) bool { return w.mustAsk }) {
		if err := b.ask(ctx, lookUp); err != nil {
			return nil, err
		}
	}
	b.planned = now
	plan := b.plan(now)
	if !b.refusesUnasked(plan) {
		return plan, nil
	}
	b.Undo(plan)
	if err := b.ask(ctx, lookUp); err != nil {
		return nil, err
	}
	return b.plan(now), nil
}

// PlanPlain is Plan where the log cannot be asked. It returns nil when it would
// have to be.
func (b *Batch) PlanPlain(now time.Time) *Plan {
	if !b.IsPlain() {
		return nil
	}
	b.forgetLog()
	b.planned = now
	plan := b.plan(now)
	if b.refusesUnasked(plan) {
		b.Undo(plan)
		return nil
	}
	return plan
}

// PlanCached plans the batch from the cached copy of its pool. It returns nil
// unless the plan gives every draw its units, which the write proves right or
// wrong: a draw is refused, or replayed, from what was read alone (law 4).
func (b *Batch) PlanCached(now time.Time) *Plan {
	if !b.Urn.IsCached() {
		return nil
	}
	plan := b.PlanPlain(now)
	if plan == nil {
		return nil
	}
	refused := func(o outcome) bool { return o.err != nil }
	if len(plan.Awards) == 0 || slices.ContainsFunc(plan.outcomes, refused) {
		b.Undo(plan)
		return nil
	}
	return plan
}

// Settle hands every planned answer to its caller. Only a plan that is
// durable, or that holds no awards, may be settled.
func (b *Batch) Settle(p *Plan) {
	if len(p.Awards) > 0 {
		b.Urn.moveTo(p.To)
	}
	var t tally
	for i, w := range b.waiters {
		if !p.outcomes[i].skipped {
			t.leave(w, p, i)
		}
	}
	b.queue.remember(b, t.refusals[CodeSoldOut] > 0)
	b.release()
	b.report(t)
}

// SettleReplays hands the draws that the log holds to their callers, and lets
// the others of the batch wait on. p is a plan of [Batch.PlanReplays].
func (b *Batch) SettleReplays(p *Plan) {
	var t tally
	for i, w := range b.waiters {
		if !p.outcomes[i].skipped && w.known != nil {
			t.leave(w, p, i)
			w.answer()
		}
	}
	b.Undo(p)
	b.report(t)
}

// tally counts answers by their outcome.
type tally struct {
	wins, replays int
	refusals      map[Code]int
}

// leave leaves the i-th answer of a plan with its waiter.
func (t *tally) leave(w *waiter, p *Plan, i int) {
	w.draw, w.err = p.answer(i, w)
	switch {
	case w.err != nil:
		if t.refusals == nil {
			t.refusals = map[Code]int{}
		}
		t.refusals[CodeOf(w.err)]++
	case w.draw.Replayed:
		t.replays++
	default:
		t.wins++
	}
}

// report tells the observer.
func (b *Batch) report(t tally) {
	b.observe(OutcomeWon, t.wins)
	b.observe(OutcomeReplayed, t.replays)
	for code, n := range t.refusals {
		b.observe(string(code), n)
	}
}

// fail gives every caller err. It is used when no plan could be applied.
func (b *Batch) fail(err error) {
	n := 0
	for _, w := range b.waiters {
		if !w.hasAnswer() {
			w.err = err
			n++
		}
	}
	b.release()
	b.observe(string(CodeOf(err)), n)
}

// release lets every caller go with the answer that it was left. The next
// batch does not wait for that: to wake hundreds of callers, who then use the
// processors, would take longer than to send it.
func (b *Batch) release() {
	b.queue.batcher.observer.Gathered(len(b.waiters), b.waited)
	b.phase = settled
	if len(b.waiters) <= wakeMax {
		wake(b.waiters)
		return
	}
	going, working := slices.Clone(b.waiters), &b.queue.batcher.working
	working.Add(1)
	go func() {
		defer working.Done()
		wake(going)
	}()
}

// wakeMax is how many callers are woken sooner than a goroutine is made for it.
const wakeMax = 16

func wake(all []*waiter) {
	for _, w := range all {
		w.answer()
	}
}

func (b *Batch) observe(outcome string, draws int) {
	if draws > 0 {
		b.queue.batcher.observer.Answered(b.Mode(), outcome, draws)
	}
}
