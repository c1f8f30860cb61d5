package group

import (
	"time"

	"drawsvc/internal/draw"
)

// pace is how fast the batches of a queue are decided, and how large the next one
// may be.
type pace struct {
	// sizeMax is the maximum number of draws of the next batch.
	sizeMax int
	// each is how long a draw takes in a full batch, the later batches counting for more;
	// 0 where that is not known, as in a queue that was idle.
	each time.Duration
}

const (
	// batchPart of a caller's time is what a batch may take before the next ones are
	// smaller: a caller waits for the batch before its own, and for its own.
	batchPart = 0.3
	// waitPart of a caller's time is what it may have to wait for its turn.
	waitPart = 0.5
	// slowSizeMin is the size below which a batch that was decided is not too large,
	// however long it took: its time is that of a lock or a link.
	slowSizeMin = 16
)

func part(of time.Duration, p float64) time.Duration { return time.Duration(float64(of) * p) }

// note takes in a batch: its draws, how long it took, whether it left draws
// waiting, and whether it was decided.
func (p *pace) note(draws int, took time.Duration, isFull, isDecided bool, limits *Limits) {
	size := draws
	if !isFull {
		size = max(draws, p.sizeMax) // so many would hardly have taken longer
	}
	each := took / time.Duration(max(size, 1))
	if p.each > 0 {
		each = (p.each + each) / 2
	}
	p.each = max(each, 1)
	switch limit := part(limits.Timeout, batchPart); {
	case took <= limit && !isFull: // a larger one may be slow
	case took <= limit/16:
		p.sizeMax = min(2*p.sizeMax, limits.BatchMax)
	case took <= limit:
		p.sizeMax = min(p.sizeMax+max(p.sizeMax/4, 1), limits.BatchMax)
	case !isDecided || p.sizeMax > slowSizeMin:
		half := max(p.sizeMax/2, 1)
		if draws < p.sizeMax {
			half = max(half, draws) // fewer than its maximum were too many already
		}
		p.sizeMax = half
	}
}

// rest drops the time of former batches: nobody waits.
func (p *pace) rest() { p.each = 0 }

// wait is how long draws wait for their turn, 0 where that is not known.
func (p *pace) wait(draws int) time.Duration { return time.Duration(draws) * p.each }

// next is how long a batch of the maximum size is expected to take, at most what a
// caller may have to wait for its turn.
func (p *pace) next(limits *Limits) time.Duration {
	return min(p.wait(p.sizeMax), part(limits.Timeout, waitPart))
}

// notePace takes in a batch that has come to its end.
func (q *queue) notePace(b *Batch, isDecided bool) {
	if b.taken.IsZero() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pace.note(len(b.waiters), time.Since(b.taken), b.isFull, isDecided, &q.batcher.limits)
}

// canDecide reports whether one more draw could be decided in time. q.mu is held.
func (q *queue) canDecide() bool {
	limits, wait := &q.batcher.limits, q.pace.wait(len(q.waiting))
	//double:first-come wait <= part(limits.Timeout, waitPart) => wait >= 0
	return len(q.waiting) < limits.QueueMax && wait <= part(limits.Timeout, waitPart)
}

// overloaded is the refusal of a draw that could not be decided in time: after as long
// as others wait there is place. q.mu is held.
func (q *queue) overloaded() *draw.Error {
	err := draw.Errorf(draw.CodeOverloaded, "more draws wait on pool %q than can be decided in time; this request drew nothing", q.batch.Urn.PoolID)
	err.RetryAfter = q.pace.wait(len(q.waiting))
	return err
}
