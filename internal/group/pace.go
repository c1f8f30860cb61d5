package group

import (
	"time"

	"drawsvc/internal/draw"
)

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
