package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// queue holds the draws that wait on one pool.
type queue struct {
	batcher *Batcher

	mu      sync.Mutex
	waiting []*waiter
	// working means that a goroutine decides the queue's batches. Only that goroutine
	// uses batch, held, asksFirst, newUsers, lastUsed, prizes and turns.
	working  bool
	lastUsed time.Time
	// prizes and turns are the numbers of the pool's prizes and of its users' turns, as the
	// batcher counts them.
	prizes, turns int64
	// flight holds the draws that were taken last. deadline, which is armed while the
	// queue works, gives up draws whose time is over: one timer serves all draws.
	flight   []*waiter
	deadline *time.Timer
	armed    bool

	pace  pace
	batch *Batch
	// wasRead reports whether the pool has been read from the database.
	wasRead atomic.Bool
	// trouble is the error of the last batch, nil if it was decided.
	trouble atomic.Pointer[draw.Error]
	// held holds the draws of a batch that failed as a whole. They are tried one by one.
	held []*waiter
	// asksFirst is the number of the next large batches that look up their keys in the
	// log before they are planned. It is set when a batch contained a known key.
	asksFirst int
	// newUsers is how many batches in a row read turns of users whose turns were not
	// cached, and found none.
	newUsers int

	soldOut atomic.Pointer[soldOut]
	// stockings is the number of stock moves that this process has made. mu guards it.
	stockings int64
}

func newQueue(b *Batcher, poolID string) *queue {
	q := &queue{batcher: b, pace: pace{sizeMax: b.limits.BatchMax}}
	q.batch = &Batch{Urn: urn.NewUrn(poolID), queue: q, phase: settled}
	return q
}

// push adds w to the draws that wait, unless it can refuse w at once.
func (q *queue) push(w *waiter) error {
	if seen := q.soldOut.Load(); seen.refuses(w) {
		q.batcher.observer.Answered(q.batch.Mode(), string(draw.CodeSoldOut), 1)
		return draw.ErrorSoldOut(w.PoolID)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.canDecide() {
		return w.unasked(q.troubleOr(q.overloaded()))
	}
	w.queue = q
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

// arm sets the deadline to that of the draw that has waited longest. q.mu must be locked.
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

// expire gives up the draws whose time is over. They stop waiting.
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
	q.waiting = slices.DeleteFunc(q.waiting, (*waiter).hasAnswer)
	q.arm()
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
			q.batcher.boundTurns(q)
		}
	}
}

// rest ends the worker if no draw waits, and reports whether it did. Only the worker
// itself may decide that. Even if no draw waits, the issuer may not have returned yet,
// and a second worker would use the issuer's batch.
func (q *queue) rest() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		return false
	}
	q.waiting, q.flight, q.working, q.lastUsed = nil, nil, false, time.Now()
	q.pace.rest()
	q.trouble.Store(nil)
	q.count()
	q.deadline.Stop()
	q.armed = false
	return true
}

// count reports to the batcher how many prizes the queue caches from now on.
func (q *queue) count() {
	prizes := int64(q.batch.Urn.Prizes())
	q.batcher.prizes.Add(prizes - q.prizes)
	q.prizes = prizes
}

// countTurns reports to the batcher how many turns the queue caches from now on.
func (q *queue) countTurns() {
	turns := int64(q.batch.Urn.CachedTurns())
	q.batcher.turns.Add(turns - q.turns)
	q.turns = turns
}

func (q *queue) dropTurns() {
	q.batch.Urn.DropTurns()
	q.countTurns()
}

// issue runs the issuer and turns a panic into an error, so that a defect that one draw
// triggers does not stop all draws of the pool.
func (q *queue) issue() (err error) {
	defer func() {
		if v := recover(); v != nil {
			q.batch.Urn.Invalidate()
			err = &draw.Error{Code: draw.CodeInternal, Detail: "the draw failed", Err: fmt.Errorf("panic: %v", v)}
		}
	}()
	return q.batcher.issuer.Issue(context.Background(), q.batch)
}

// giveUp answers a batch that could not be decided. If one of its draws may be the
// reason, the draws are retried one by one. Each is looked up first, because it may
// have been written before the failure.
func (q *queue) giveUp(err error) {
	b := q.batch
	if b.IsSettled() {
		return // after a panic that followed the last answer, nobody waits
	}
	if draw.CodeOf(err) == draw.CodeInternal && len(b.waiters) > 1 {
		q.held = append(q.held, b.waiters...)
		b.spanFails(err)
		b.phase = settled
		return
	}
	b.waitedInVain = b.waitedInVain || b.phase == inDoubt
	q.noteTrouble(err)
	b.fail(err)
}

// noteTrouble records the error of a batch. If later draws wait and no batch takes them,
// the error is the reason.
func (q *queue) noteTrouble(err error) {
	e, ok := errors.AsType[*draw.Error](err)
	if ok && e.Code == draw.CodeOutcomeUnknown {
		e, ok = errors.AsType[*draw.Error](e.Err)
		if !ok { // the response to a commit was lost
			e, ok = draw.Errorf(draw.CodeStoreUnavailable, "the database does not answer"), true
		}
	}
	if ok && slices.Contains([]draw.Code{draw.CodeContended, draw.CodeStoreUnavailable, draw.CodeLockUnavailable}, e.Code) {
		q.trouble.Store(e)
	}
}

// troubleOr returns the reason why no batch takes a draw: the error of the last batch, or
// other if that batch was decided.
func (q *queue) troubleOr(other *draw.Error) *draw.Error {
	//double:keeps-reasons q.trouble.Load() => (*draw.Error)(nil)
	e := q.trouble.Load()
	if e == nil {
		return other
	}
	return draw.Errorf(e.Code, "draws before this one failed, and it drew nothing: %s", e.Detail)
}

// countUnanswered counts the draws without an answer. since is the time at which the
// oldest of them arrived.
func (q *queue) countUnanswered() (draws int, since time.Time) {
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

// isUnread reports whether the queue is idle and its pool was never read.
func (q *queue) isUnread() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.working && !q.batch.Urn.WasRead()
}

const (
	// askedFirstMin is the minimum number of draws of a large batch. A smaller batch can
	// be written again in little time.
	askedFirstMin = 16
	// askedFirstFor is the number of large batches that look up their keys first, after a
	// batch with a known key.
	askedFirstFor = 8
	// newUsersMin is the minimum of newUsers at which users without cached turns are
	// supposed to be new. If one of them has a turn, the write fails.
	newUsersMin = 16
)

// take fills b with waiting draws, and returns false if there are none.
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

// move moves waiting draws into b, up to the size of a batch, except those whose callers
// have disconnected. It refuses draws whose time would end before the batch does. After a
// batch that was given up because of other sessions, it does not refuse them: their keys
// are then looked up first, which needs no lock. q.mu must be locked.
func (q *queue) move(b *Batch, now time.Time) {
	units := 0
	for _, w := range b.waiters {
		units += w.Count
	}
	lastCome := now.Add(q.pace.next(&q.batcher.limits) - q.batcher.limits.Timeout) // a draw that arrived earlier has too little time left
	var late []*waiter
	n := 0
	for n < len(q.waiting) && len(b.waiters) < q.pace.sizeMax && units < batchUnitsMax {
		w := q.waiting[n]
		n++
		switch {
		case w.hasAnswer():
		//double:first-come !b.behindVain => false
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

// refuse answers draws that no batch takes, because they have too little time left.
func (q *queue) refuse(late []*waiter) {
	for _, w := range late {
		w.err = w.unasked(q.troubleOr(q.overloaded()))
	}
	q.batcher.wake(late)
}

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

// pace is the speed at which the batches of a queue are decided, and the maximum size of
// the next one.
type pace struct {
	// sizeMax is the maximum number of draws of the next batch.
	sizeMax int
	// each is the time per draw in a full batch, as an average in which later batches
	// have more weight. It is 0 if unknown, as in a queue that was idle.
	each time.Duration
}

const (
	// batchPart is the part of a caller's time that a batch may take. If it takes longer,
	// the next batches are smaller, because a caller waits for the previous batch and
	// then for its own.
	batchPart = 0.3
	// waitPart is the part of a caller's time for which it may have to wait for its
	// turn.
	waitPart = 0.5
	// slowSizeMin is the minimum size of a batch that can be too large. If a smaller
	// batch was decided, but took long, the reason was a lock or a connection.
	slowSizeMin = 16
)

func part(of time.Duration, p float64) time.Duration { return time.Duration(float64(of) * p) }

// note records a batch: the number of its draws, how long it took, whether it left draws
// waiting, and whether it was decided.
func (p *pace) note(draws int, took time.Duration, isFull, isDecided bool, limits *Limits) {
	size := draws
	if !isFull {
		size = max(draws, p.sizeMax) // a batch of the maximum size would hardly have taken longer
	}
	each := took / time.Duration(max(size, 1))
	if p.each > 0 {
		each = (p.each + each) / 2
	}
	p.each = max(each, 1)
	switch limit := part(limits.Timeout, batchPart); {
	case took <= limit && !isFull: // a larger batch may be too slow
	case took <= limit/16:
		p.sizeMax = min(2*p.sizeMax, limits.BatchMax)
	case took <= limit:
		p.sizeMax = min(p.sizeMax+max(p.sizeMax/4, 1), limits.BatchMax)
	case !isDecided || p.sizeMax > slowSizeMin:
		half := max(p.sizeMax/2, 1)
		if draws < p.sizeMax {
			half = max(half, draws) // even fewer draws than the maximum were too many
		}
		p.sizeMax = half
	}
}

// rest drops the time of former batches. It is called when nobody waits.
func (p *pace) rest() { p.each = 0 }

// wait returns how long draws wait for their turn, 0 if unknown.
func (p *pace) wait(draws int) time.Duration { return time.Duration(draws) * p.each }

// next returns the expected time of a batch of the maximum size, up to the maximum time
// for which a caller may wait for its turn.
func (p *pace) next(limits *Limits) time.Duration {
	return min(p.wait(p.sizeMax), part(limits.Timeout, waitPart))
}

// notePace records a batch that has ended.
func (q *queue) notePace(b *Batch, isDecided bool) {
	if b.taken.IsZero() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pace.note(len(b.waiters), time.Since(b.taken), b.isFull, isDecided, &q.batcher.limits)
}

// canDecide reports whether one more draw could be decided in time. q.mu must be locked.
func (q *queue) canDecide() bool {
	limits, wait := &q.batcher.limits, q.pace.wait(len(q.waiting))
	//double:first-come wait <= part(limits.Timeout, waitPart) => wait >= 0
	return len(q.waiting) < limits.QueueMax && wait <= part(limits.Timeout, waitPart)
}

// overloaded returns the refusal of a draw that could not be decided in time. A retry is
// worthwhile when the draws that wait now are answered. q.mu is held.
func (q *queue) overloaded() *draw.Error {
	err := draw.Errorf(draw.CodeOverloaded, "more draws wait on pool %q than can be decided in time; this request drew nothing", q.batch.Urn.PoolID)
	err.RetryAfter = q.pace.wait(len(q.waiting))
	return err
}
