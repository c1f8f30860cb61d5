package group

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Batch is the draws of one pool that are decided together, in order of their arrival. A
// mode plans the batch, writes the plan and settles it. If the plan was not written, the
// mode undoes it, and may plan again. What the log knows about a draw is its
// [urn.LogAnswer]. A plan uses only answers from its own attempt.
type Batch struct {
	// Urn is the cached copy of the pool.
	Urn *urn.Urn

	queue   *queue
	waiters []*waiter
	asks    []*urn.Ask // of the waiters, as they are planned
	phase   phase
	// asksFirst means that the log is asked before the next plan. A write is in doubt, or
	// a write of this batch or of an earlier one met a known key. Otherwise, a large
	// batch that contains a known key would be written twice.
	asksFirst bool
	// asOf is a moment before the pool was read for the last plan, or the moment at which
	// its row was locked. So what was read is the state at that moment or later.
	asOf time.Time
	// lookedUp is the number of users whose turns were read last.
	lookedUp int
	// waited is how long the first of the draws waited until it was taken.
	waited time.Duration
	// taken is when the batch was taken. It is zero for a draw that is retried by itself.
	// isFull means that some waiting draws were not taken.
	taken  time.Time
	isFull bool
	// stockings is the queue's count of stock moves when the batch was gathered.
	stockings int64
	// waitedInVain means that the batch was given up, in doubt or because of other
	// sessions. behindVain means that the batch before it was.
	waitedInVain, behindVain bool
	mode                     atomic.Pointer[string]
	// span is nil while no draw of the batch is traced; attempts counts its
	// transactions.
	span     trace.Span
	attempts int
}

// phase is the progress of a batch; see the package's documentation.
type phase int

const (
	// open means that no write of the batch can have been committed.
	open phase = iota
	// inDoubt means that a write of the batch may have been committed.
	inDoubt
	// settled means that every draw of the batch has been answered.
	settled
)

// Draws is the number of draws in the batch.
func (b *Batch) Draws() int { return len(b.waiters) }

// RequestIDs returns the ids of the batch's first requests, up to the given number.
func (b *Batch) RequestIDs(most int) []string {
	ids := make([]string, 0, min(most, len(b.waiters)))
	for _, w := range b.waiters {
		if len(ids) == most {
			break
		}
		if w.requestID != "" {
			ids = append(ids, w.requestID)
		}
	}
	return ids
}

// Next takes the draws that wait now, in place of the settled ones. It returns false if
// no draw waits, or if the batch is not settled.
func (b *Batch) Next() bool {
	if b.phase != settled {
		return false
	}
	b.endSpan()
	if !b.queue.take(b) {
		return false
	}
	b.follow(0)
	return true
}

// TopUp adds the draws that have arrived since the batch was taken: many may have arrived
// while it waited for a lock or to retry. A batch in doubt is not changed. TopUp is
// called before the pool or the log is read for the plan. On a locked row, Plan calls it.
func (b *Batch) TopUp() {
	b.asOf = time.Now()
	if b.phase == open {
		taken := len(b.waiters)
		b.queue.topUp(b)
		b.follow(taken)
	}
}

// Mode returns the name of the mode that decides the pool's batches, "" before the
// first batch.
func (b *Batch) Mode() string {
	if name := b.mode.Load(); name != nil {
		return *name
	}
	return ""
}

// SetMode records the name of the mode that decides the batch.
func (b *Batch) SetMode(name string) {
	if b.Mode() != name {
		b.mode.Store(&name)
	}
}

// fill resets the batch and gives it other waiters.
func (b *Batch) fill(waiters []*waiter) {
	clear(b.waiters)
	b.waiters = append(b.waiters[:0], waiters...)
	b.behindVain, b.waitedInVain = b.waitedInVain, false
	b.phase, b.asksFirst, b.lookedUp, b.asOf = open, false, 0, time.Now()
	b.taken, b.isFull = time.Time{}, false
}

// IsSettled reports whether every draw of the batch has been answered.
func (b *Batch) IsSettled() bool { return b.phase == settled }

// IsInDoubt reports whether a write of this batch may have been committed.
func (b *Batch) IsInDoubt() bool { return b.phase == inDoubt }

// WaitedInVain records that the batch was given up because of other sessions. The next
// batch may then have to wait too.
func (b *Batch) WaitedInVain() { b.waitedInVain = true }

// IsBehindVain reports whether the batch before this one waited in vain, or was given up
// in doubt. The draws of this batch may then have little time left.
func (b *Batch) IsBehindVain() bool { return b.behindVain }

// IsPlain reports whether the batch's pool was read before and no draw of it has to be
// looked up in the log before it is planned.
func (b *Batch) IsPlain() bool { return b.phase == open && b.Urn.Version > 0 && !b.asksFirst }

// CountsUsers reports whether the batch is planned from turns of users, because the last
// read rules of its pool count them.
func (b *Batch) CountsUsers() bool {
	return b.Urn.State == draw.StateOpen && len(b.Urn.Rules().Counted()) > 0
}

// IsPlainAt reports whether the batch is plain, and may be planned at the given time from
// the cached copy of its pool. No other session may seem to write to the pool, and no
// item of its agenda may be due.
func (b *Batch) IsPlainAt(now time.Time) bool {
	return b.IsPlain() && b.Urn.IsCached() && !b.Urn.IsDueAt(now)
}

// doubt records that writes of the batch may have been committed. Every draw is then
// looked up before it is planned again, and no draw joins the batch.
func (b *Batch) doubt() { b.phase, b.asksFirst = inDoubt, true }

// Undo puts the units of a plan that wrote nothing back into the urn. Its draws wait
// again. They may be withdrawn, except those that the log may already have.
func (b *Batch) Undo(p *urn.Plan) {
	p.Undo()
	for _, w := range b.waiters {
		if !w.Log.IsTried() && w.Log.State() != urn.LogKnown {
			w.state.CompareAndSwap(planned, waiting)
		}
	}
}

// InDoubt is Undo for a plan that may have been committed all the same. The next read of
// the log shows whether it was.
func (b *Batch) InDoubt(p *urn.Plan) {
	for i, w := range b.waiters {
		if taken := p.Taken(i); len(taken) > 0 {
			w.Log.Try(p.From, taken[0])
		}
	}
	p.Undo()
	b.doubt()
}

// Plan decides every draw of the batch in order of arrival; see [urn.Urn.Plan], and
// [urn.Plan.IsDue] for a plan that is to be undone. No draw is answered before Settle.
// The pool was read just before. If that read locked the pool's row, no session can have
// changed it since, so the draws that have arrived may join the batch. Plan reads the log
// only if necessary: after a write that met a known key or is in doubt, and in large
// batches for a while after a known key. The write looks up the draws that the plan
// refuses, so that a known key is answered whatever the pool's present state or stock
// (law 4).
func (b *Batch) Plan(ctx context.Context, now time.Time, log Log, locked bool) (*urn.Plan, error) {
	if locked {
		b.TopUp()
	}
	b.ageLog()
	if b.asksFirst {
		if err := b.ask(ctx, log); err != nil {
			return nil, err
		}
	}
	facts, err := b.turns(ctx, log)
	if err != nil {
		return nil, err
	}
	//double:reads-too-soon return b.plan(now, facts), nil => b.TopUp(); return b.plan(now, facts), nil
	return b.plan(now, facts), nil
}

// PlanPlain is Plan without reads of the log. It returns nil if a read is needed. Under
// rules that count, and if an item of the agenda is due, a read is always needed.
func (b *Batch) PlanPlain(now time.Time) *urn.Plan {
	if b.CountsUsers() {
		return nil
	}
	return b.planIf(now, nil, func(p *urn.Plan) bool { return len(p.Unasked()) == 0 })
}

// PlanCached plans the batch from the cached copy of its pool. It returns nil unless
// the plan gives every draw its units; the write then proves the plan right or wrong. A
// draw is refused or replayed only from data that was read in the attempt (law 4). Under
// rules that count, it also returns nil if turns must be read first.
func (b *Batch) PlanCached(now time.Time) *urn.Plan {
	if !b.IsPlainAt(now) {
		return nil
	}
	facts, ok := b.expectTurns()
	if !ok {
		return nil
	}
	return b.planIf(now, facts, func(p *urn.Plan) bool {
		return len(p.Awards) > 0 && !b.refusesAny(p) && p.ProvesSuppositions()
	})
}

// planIf plans a plain batch. It undoes the plan and returns nil unless does accepts
// it.
func (b *Batch) planIf(now time.Time, facts *urn.Facts, does func(*urn.Plan) bool) *urn.Plan {
	if !b.IsPlain() {
		return nil
	}
	b.ageLog()
	plan := b.plan(now, facts)
	if plan.IsDue() || !does(plan) {
		b.Undo(plan)
		return nil
	}
	return plan
}

func (b *Batch) plan(now time.Time, facts *urn.Facts) *urn.Plan {
	b.queue.wasRead.Store(b.Urn.WasRead())
	return b.Urn.PlanWith(b.line(), facts, now)
}

// line returns the requests of the batch for a plan. From then on, the draws whose
// callers still wait can no longer be withdrawn.
func (b *Batch) line() []*urn.Ask {
	for _, w := range b.waiters {
		w.Skip = !w.state.CompareAndSwap(waiting, planned) && w.hasAnswer()
	}
	return b.gather()
}

// gather returns the requests of the batch, whether or not their callers still wait.
func (b *Batch) gather() []*urn.Ask {
	b.asks = b.asks[:0]
	for _, w := range b.waiters {
		b.asks = append(b.asks, &w.Ask)
	}
	return b.asks
}

func (b *Batch) refusesAny(p *urn.Plan) bool {
	for i := range b.waiters {
		if p.Err(i) != nil {
			return true
		}
	}
	return false
}
