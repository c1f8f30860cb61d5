package group

import (
	"time"

	"drawsvc/internal/draw/urn"
)

const (
	// soldOutFor is how long the answer "sold out" is given from memory.
	soldOutFor = time.Second
	// dueBefore is how long before the next item of the pool's agenda the record expires.
	// The time of the item is measured by another clock.
	dueBefore = 100 * time.Millisecond
)

// soldOut records that a pool had only this many units when it was read.
type soldOut struct {
	remaining int64
	// until is when the record expires.
	until time.Time
}

// refuses reports whether a draw is refused because the pool was recently sold out. A
// draw with a key is not refused from memory, because the key may be in the log.
func (s *soldOut) refuses(w *waiter) bool {
	return s != nil && !w.Named && int64(w.Count) > s.remaining && w.since.Before(s.until)
}

// noteSoldOut caches whether the pool was sold out when it was read. What was read before
// a change by this process is not cached. The record expires before the next item of the
// agenda, which may add stock.
func (q *queue) noteSoldOut(b *Batch, p *urn.Plan, sold bool) {
	keep := soldOutFor
	if in, ok := p.DueIn(); ok {
		keep = min(keep, in-dueBefore)
	}
	if !sold || keep <= 0 {
		q.soldOut.Store(nil)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.stockings == q.stockings {
		q.soldOut.Store(&soldOut{remaining: b.Urn.Remaining(), until: b.asOf.Add(keep)})
	}
}

func (q *queue) changed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stockings++
	q.soldOut.Store(nil)
}
