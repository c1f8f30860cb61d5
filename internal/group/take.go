package group

import "time"

const (
	// askedFirstMin is the minimum size of a large batch: a smaller one is quickly
	// written again.
	askedFirstMin = 16
	// askedFirstFor is how many large batches ask the log first after a batch that
	// contained a known key.
	askedFirstFor = 8
)

// take fills b with the draws that wait, and reports whether any did.
func (q *queue) take(b *Batch) bool {
	if len(q.held) > 0 {
		b.fill(q.held[:1])
		b.doubt()
		b.waited = time.Since(b.waiters[0].since)
		q.held = q.held[1:]
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	b.fill(nil)
	b.taken = b.asOf
	q.flight = q.flight[:0]
	q.move(b, b.asOf)
	if len(b.waiters) == 0 {
		b.phase = settled
		return false
	}
	q.arm()
	b.stockings = q.stockings
	b.waited = b.asOf.Sub(b.waiters[0].since)
	if q.asksFirst > 0 && len(b.waiters) >= askedFirstMin {
		q.asksFirst--
		b.asksFirst = true
	}
	return true
}

// topUp adds the draws that wait now to b.
func (q *queue) topUp(b *Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.move(b, b.asOf)
}

// move adds waiting draws to b, as many as a batch may hold, and drops those whose
// callers have left. It refuses draws whose time would end before the batch's, except
// after a batch that waited in vain: then known keys are looked up first, which takes
// no lock. q.mu is held.
func (q *queue) move(b *Batch, now time.Time) {
	units := 0
	for _, w := range b.waiters {
		units += w.Count
	}
	// Draws that came before this have too little time.
	lastCome := now.Add(q.pace.next(&q.batcher.limits) - q.batcher.limits.Timeout)
	var late []*waiter
	n := 0
	for n < len(q.waiting) && len(b.waiters) < q.pace.sizeMax && units < batchUnitsMax {
		w := q.waiting[n]
		n++
		switch {
		case w.hasAnswer():
		case w.since.Before(lastCome) && !b.behindVain:
			late = append(late, w)
		default:
			units += w.Count
			b.waiters, q.flight = append(b.waiters, w), append(q.flight, w)
		}
	}
	b.isFull = n < len(q.waiting)
	if n == 0 {
		return
	}
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	q.refuse(late)
}

// refuse answers draws that no batch takes because too little of their time is left.
func (q *queue) refuse(late []*waiter) {
	for _, w := range late {
		w.err = w.unasked(q.troubleOr(q.overloaded()))
	}
	q.batcher.wake(late)
}
