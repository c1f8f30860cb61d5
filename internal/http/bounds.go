package http

import (
	"golang.org/x/sync/semaphore"

	"drawsvc/internal/draw"
)

const (
	// streamsMax is how many audits and exports run at once. They read for as
	// long as their caller takes, which has a pace to keep to, and leave connections
	// for other calls.
	streamsMax = 2
	// proofsMax is how many receipts are proven at once. Each reads some hundred
	// rows, and the first of a pool its whole log. With streams they leave one of the
	// connections for other reads.
	proofsMax = 2
	// answersMax bounds the bytes of all long answers that are being sent: a
	// caller that reads slowly holds its answer until the write timeout.
	answersMax = 64 << 20
	// answerShort is the longest answer that is not counted, in bytes.
	answerShort = 64 << 10
)

// bounds is what calls share, so that no number of callers uses up the memory
// or the connections to the database.
type bounds struct {
	streams, answers, simulations, proofs *semaphore.Weighted
}

func newBounds() bounds {
	return bounds{semaphore.NewWeighted(streamsMax), semaphore.NewWeighted(answersMax), semaphore.NewWeighted(simulationsMax), semaphore.NewWeighted(proofsMax)}
}

// streamed is a handler of an audit or an export, of which few run at once.
func streamed(handle handler) handler {
	return func(c call) error {
		streams := c.server.bounds.streams
		if !streams.TryAcquire(1) {
			return draw.Errorf(draw.CodeOverloaded, "%d audits and exports run already, which is the most at once", streamsMax)
		}
		defer streams.Release(1)
		return handle(c)
	}
}

// proven is a handler of receipts with their proofs, of which few are made at once.
func proven(handle handler) handler {
	return func(c call) error {
		proofs := c.server.bounds.proofs
		if !proofs.TryAcquire(1) {
			return draw.Errorf(draw.CodeOverloaded, "%d receipts are being proven already, which is the most at once", proofsMax)
		}
		defer proofs.Release(1)
		return handle(c)
	}
}

// room makes room for an answer of n bytes until done is called. Error:
// CodeOverloaded.
func (b bounds) room(n int) (done func(), err error) {
	if n <= answerShort {
		return func() {}, nil
	}
	size := min(int64(n), answersMax) // the longest goes alone
	if !b.answers.TryAcquire(size) {
		return nil, draw.Errorf(draw.CodeOverloaded, "%d MiB of answers are being sent already, which is the most at once", answersMax>>20)
	}
	return func() { b.answers.Release(size) }, nil
}
