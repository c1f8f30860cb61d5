package group

import (
	"time"

	"drawsvc/internal/draw/urn"
)

const (
	// soldOutFor is how long "sold out" is answered from memory.
	soldOutFor = time.Second
	// dueBefore is how long before the next item of the pool's agenda the memory expires:
	// the item's time is by another clock.
	dueBefore = 100 * time.Millisecond
)

// soldOut records that a pool was seen to hold only this many units.
type soldOut struct {
	remaining int64
	// until is when the record expires.
	until time.Time
}

// refuses refuses a draw because the pool was recently sold out, and reports whether it
// did. A key that its caller chose may be in the log, so such a draw is not refused
// from memory.
func (s *soldOut) refuses(w *waiter) bool {
	return s != nil && !w.Named && int64(w.Count) > s.remaining && w.since.Before(s.until)
}

// noteSoldOut caches whether the pool was sold out when it was read. A change by this
// process invalidates a read from before the change. Nothing is cached past the next
// item of the agenda, which may add stock.
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
