package draw

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Batch is the draws of one pool that are decided together, in order of their
// arrival. A mode plans it, applies the plan and settles it; when the plan was
// not applied, it undoes it and may plan again.
type Batch struct {
	// Urn is the pool as it was last read.
	Urn *Urn

	queue   *queue
	waiters []*waiter
	// known holds draws found in the log; it is used only while looked is set.
	known  map[string]Draw
	looked bool
	// lookUpFirst: the next plan starts from a look at the log, because an
	// apply met a known key or lost its answer.
	lookUpFirst bool
	// unsure: an apply of this batch may have been committed.
	unsure bool
	// settled: all waiters have their answers.
	settled bool
	// planned is when the last plan was made, right after the urn was read.
	planned time.Time
	// waited is how long the first of the draws waited to be taken.
	waited time.Duration
	// stockings is the queue's count when the batch was gathered.
	stockings int64
	mode      atomic.Pointer[string]
}

// LookUp finds the draws among ids that the pool's log holds already. No id
// is there twice.
type LookUp func(ctx context.Context, poolID string, ids []string) (map[string]Draw, error)

// Draws is the number of draws in the batch.
func (b *Batch) Draws() int { return len(b.waiters) }

// Next replaces a settled batch by the draws that wait now. It returns false
// when there are none, or when the batch is not settled.
func (b *Batch) Next() bool { return b.settled && b.queue.take(b) }

// TopUp adds the draws that have come since the batch was taken: while it
// waited for its turn, many may have. A batch that has to look at the log, or
// may be in it, stays as it is.
func (b *Batch) TopUp() {
	if !b.settled && !b.lookUpFirst && !b.unsure {
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
	b.known, b.looked, b.lookUpFirst, b.unsure, b.settled = nil, false, false, false, false
}

// KnownKey tells the batch that an apply met a key that the log holds: the
// next plan looks the keys up first.
func (b *Batch) KnownKey() { b.lookUpFirst, b.looked = true, false }

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

// Unsure is Undo for a plan that may have been committed all the same: the
// pool's version tells at the next read. The next plan looks up every draw.
func (b *Batch) Unsure(p *Plan) {
	p.putBack()
	for i, w := range b.waiters {
		if o := p.outcomes[i]; o.end > o.first {
			w.tried = append(w.tried, p.Awards[o.first])
		}
	}
	b.unsure = true
	b.KnownKey()
}

// IsSettled says that every draw of the batch has its answer.
func (b *Batch) IsSettled() bool { return b.settled }

// IsUntried says that the batch's pool was read before, and that nothing is
// known of the batch that a look at the log would have to clear up.
func (b *Batch) IsUntried() bool { return b.Urn.Version > 0 && !b.lookUpFirst && !b.unsure }

// confirmedMin is how many reads in a row must have found a pool as it was
// remembered before that is taken for granted.
const confirmedMin = 2

// IsRemembered says that nobody else seems to write to the batch's pool, so
// that it may be planned from what is remembered, without another look: the
// write tells whether that was true.
func (b *Batch) IsRemembered() bool { return b.IsUntried() && b.Urn.Confirmed >= confirmedMin }

// Keys are the names that callers chose for draws of the batch.
func (b *Batch) Keys() []string {
	var keys []string
	for _, w := range b.waiters {
		if w.Named {
			keys = append(keys, w.DrawID)
		}
	}
	return keys
}

// IsUnsure says that an apply of this batch may have been committed.
func (b *Batch) IsUnsure() bool { return b.unsure }

// Plan decides every draw of the batch against the urn, one after another in
// order of arrival: a known key gets its first awards, a draw that the urn
// covers gets units of it, any other is refused. Nothing is answered before
// Settle. The log is looked at only when it must be: when an apply said that
// a key is known, or before a named draw is refused, because a known key is
// answered whatever the pool's state or stock is by now.
func (b *Batch) Plan(ctx context.Context, now time.Time, lookUp LookUp) (*Plan, error) {
	if b.lookUpFirst && !b.looked {
		if err := b.look(ctx, lookUp); err != nil {
			return nil, err
		}
	}
	b.planned = now
	plan := b.plan(now)
	if !plan.wantsLook {
		return plan, nil
	}
	b.Undo(plan)
	if err := b.look(ctx, lookUp); err != nil {
		return nil, err
	}
	return b.plan(now), nil
}

func (b *Batch) look(ctx context.Context, lookUp LookUp) error {
	ids := make([]string, 0, len(b.waiters))
	for _, w := range b.waiters {
		if w.Named || b.unsure {
			ids = append(ids, w.DrawID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // asked for twice, a draw's awards would come twice
	known := map[string]Draw{}
	if len(ids) > 0 {
		var err error
		if known, err = lookUp(ctx, b.Urn.PoolID, ids); err != nil {
			return err
		}
	}
	b.known, b.looked = known, true
	return nil
}

// Settle hands every planned answer to its caller. Only a plan that is
// durable, or that holds no awards, may be settled.
func (b *Batch) Settle(p *Plan) {
	if len(p.Awards) > 0 {
		b.Urn.Version = p.From + int64(len(p.Awards))
	}
	var wins, replays int
	var refusals map[Code]int
	for i, w := range b.waiters {
		if p.outcomes[i].skipped {
			continue
		}
		w.draw, w.err = p.answer(i, w)
		switch {
		case w.err != nil:
			if refusals == nil {
				refusals = map[Code]int{}
			}
			refusals[CodeOf(w.err)]++
		case w.draw.Replayed:
			replays++
		default:
			wins++
		}
	}
	b.queue.remember(b, refusals[CodeSoldOut] > 0)
	b.release()
	b.observe(OutcomeWon, wins)
	b.observe(OutcomeReplayed, replays)
	for code, n := range refusals {
		b.observe(string(code), n)
	}
}

// fail gives every caller err. It is used when no plan could be applied.
func (b *Batch) fail(err error) {
	for _, w := range b.waiters {
		w.err = err
	}
	n := len(b.waiters)
	b.release()
	b.observe(string(CodeOf(err)), n)
}

// release lets every caller go with the answer that it was left. The next
// batch does not wait for that: to wake hundreds of callers, who then use the
// processors, would take longer than to send it.
func (b *Batch) release() {
	b.queue.batcher.observer.Gathered(len(b.waiters), b.waited)
	b.settled = true
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
