package group

import "time"

const (
	// askedFirstMin is the size from which on a batch is large: a smaller one is soon
	// written again.
	askedFirstMin = 16
	// askedFirstFor is how many large batches ask the log first after one that held a
	// known key.
	askedFirstFor = 8
)

// take fills b with those who wait; false when nobody does.
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

// topUp adds those who wait now to b.
func (q *queue) topUp(b *Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.move(b, b.asOf)
}

// move lets those who wait into b, as many as a batch may hold, but for those who
// have left. It refuses those whose time would end before the batch's. Not after a
// batch that waited in vain: known keys are looked up first there, which takes no
// lock. q.mu is held.
func (q *queue) move(b *Batch, now time.Time) {
	units := 0
	for _, w := range b.waiters {
		units += w.Count
	}
	lastCome := now.Add(q.pace.next(&q.batcher.limits) - q.batcher.limits.Timeout) // who came before has too little time
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

// refuse answers draws that no batch takes, because their time does not suffice.
func (q *queue) refuse(late []*waiter) {
	for _, w := range late {
		w.err = w.unasked(q.troubleOr(q.overloaded()))
	}
	q.batcher.wake(late, false)
}
