package group

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
)

const (
	// soldOutFor is how long "sold out" is answered from memory.
	soldOutFor = time.Second
	// dueBefore is how long before an item of the pool's agenda that ends: the
	// item's time is by another clock.
	dueBefore = 100 * time.Millisecond
)

// queue is what waits on one pool.
type queue struct {
	batcher *Batcher

	mu      sync.Mutex
	waiting []*waiter
	// working says that a goroutine decides the queue's batches. It alone
	// touches batch, held, lastUsed and prizes.
	working  bool
	lastUsed time.Time
	// prizes are those of the pool, as the batcher counts them.
	prizes int64
	// flight are the draws that were taken last. deadline, armed while the
	// queue works, gives up those whose time is over: one timer for all.
	flight   []*waiter
	deadline *time.Timer
	armed    bool

	batch *Batch
	// held are draws of a batch that failed as a whole, to be tried one by one.
	held []*waiter

	soldOut atomic.Pointer[soldOut]
	// stockings counts the stock moves that this process made; mu guards it.
	stockings int64
}

// soldOut says that a pool was seen to hold only this many units.
type soldOut struct {
	remaining int64
	// until is when the memory ends.
	until time.Time
}

func newQueue(b *Batcher, poolID string) *queue {
	q := &queue{batcher: b}
	q.batch = &Batch{Urn: draw.NewUrn(poolID), queue: q, phase: settled}
	return q
}

// push lets w wait, unless it can be refused at once.
func (q *queue) push(w *waiter) error {
	if seen := q.soldOut.Load(); seen.refuses(w) {
		q.batcher.observer.Answered(q.batch.Mode(), string(draw.CodeSoldOut), 1)
		return draw.ErrorSoldOut(w.PoolID)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= q.batcher.limits.QueueMax {
		return draw.Errorf(draw.CodeOverloaded, "%d draws wait on pool %q already; nothing happened", len(q.waiting), w.PoolID)
	}
	q.waiting = append(q.waiting, w)
	if !q.working {
		q.working = true
		q.batcher.working.Add(1)
		go q.work()
	}
	if !q.armed {
		q.arm()
	}
	return nil
}

// arm sets the deadline to that of the draw that has waited longest. q.mu is
// held.
func (q *queue) arm() {
	q.armed = false
	for _, line := range [2][]*waiter{q.flight, q.waiting} {
		for _, w := range line {
			if w.state.Load() >= answered {
				continue
			}
			left := q.batcher.limits.Timeout - time.Since(w.since)
			if q.deadline == nil {
				q.deadline = time.AfterFunc(left, q.expire)
			} else {
				q.deadline.Reset(left)
			}
			q.armed = true
			return
		}
	}
}

// expire gives up the draws whose time is over.
func (q *queue) expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range [2][]*waiter{q.flight, q.waiting} {
		for _, w := range line {
			if time.Since(w.since) >= q.batcher.limits.Timeout && w.giveUp() {
				close(w.done)
			}
		}
	}
	q.arm()
}

// refuses answers a draw from the memory of having sold out. A key that its
// caller chose may be known to the log, which only the log can tell.
func (s *soldOut) refuses(w *waiter) bool {
	return s != nil && !w.Named && int64(w.Count) > s.remaining && w.since.Before(s.until)
}

// work decides batches until nobody waits.
func (q *queue) work() {
	defer q.batcher.working.Done()
	defer q.batcher.dropUnread(q)
	for !q.rest() {
		for q.batch.Next() {
			for !q.batch.IsSettled() {
				if err := q.issue(); err != nil {
					q.giveUp(err)
				}
			}
		}
	}
}

// rest ends the worker, unless somebody waits. Only the worker itself may say
// so: an issuer for which nobody waits any more is still on its way back, and
// a second worker would take the batch out of its hands.
func (q *queue) rest() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		return false
	}
	q.waiting, q.flight, q.working, q.lastUsed = nil, nil, false, time.Now()
	q.count()
	q.deadline.Stop()
	q.armed = false
	return true
}

// count tells the batcher how many prizes the queue keeps from now on.
func (q *queue) count() {
	prizes := int64(q.batch.Urn.Prizes())
	q.batcher.prizes.Add(prizes - q.prizes)
	q.prizes = prizes
}

// issue runs the issuer and turns a panic into an error, so that a defect met
// by one draw does not end the pool's service.
func (q *queue) issue() (err error) {
	defer func() {
		if v := recover(); v != nil {
			q.batch.Urn.Invalidate()
			err = &draw.Error{Code: draw.CodeInternal, Detail: "the draw failed", Err: fmt.Errorf("panic: %v", v)}
		}
	}()
	return q.batcher.issuer.Issue(context.Background(), q.batch)
}

// giveUp answers a batch that could not be decided. Where the reason may lie
// in one of its draws, they are tried again one by one; each is looked up
// first, because how far the batch came is not known.
func (q *queue) giveUp(err error) {
	b := q.batch
	if b.IsSettled() {
		return // a panic behind the last answer has nobody left to tell
	}
	if draw.CodeOf(err) == draw.CodeInternal && len(b.waiters) > 1 {
		q.held = append(q.held, b.waiters...)
		b.spanFails(err)
		b.phase = settled
		return
	}
	b.waitedInVain = b.waitedInVain || b.phase == inDoubt
	b.fail(err)
}

// unanswered counts the draws without an answer; since is when the oldest of
// them came.
func (q *queue) unanswered() (draws int, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range [2][]*waiter{q.flight, q.waiting} {
		for _, w := range line {
			if w.hasAnswer() {
				continue
			}
			if draws == 0 || w.since.Before(since) {
				since = w.since
			}
			draws++
		}
	}
	return draws, since
}

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
	q.flight = q.flight[:0]
	q.move(b)
	if len(b.waiters) == 0 {
		b.phase = settled
		return false
	}
	q.arm()
	b.stockings = q.stockings
	b.waited = time.Since(b.waiters[0].since)
	return true
}

// topUp adds those who wait now to b.
func (q *queue) topUp(b *Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.move(b)
}

// move lets those who wait into b, as many as a batch may hold. q.mu is held.
func (q *queue) move(b *Batch) {
	units := 0
	for _, w := range b.waiters {
		units += w.Count
	}
	n := 0
	for n < len(q.waiting) && len(b.waiters) < q.batcher.limits.BatchMax && units < batchUnitsMax {
		w := q.waiting[n]
		units += w.Count
		n++
		b.waiters, q.flight = append(b.waiters, w), append(q.flight, w)
	}
	if n == 0 {
		return
	}
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
}

// noteSoldOut keeps that the pool was seen sold out, or that it was not. What
// was read before a change that this process made is not kept after it, and
// nothing is kept past the next item of the agenda, which may be stock.
func (q *queue) noteSoldOut(b *Batch, p *draw.Plan, sold bool) {
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

// unread says that the queue is idle and that its pool was never read.
func (q *queue) unread() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.working && !q.batch.Urn.WasRead()
}

func (q *queue) changed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stockings++
	q.soldOut.Store(nil)
}
