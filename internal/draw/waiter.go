package draw

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// waiter is a request and the place where its answer is left.
type waiter struct {
	Request
	since time.Time
	state atomic.Int32
	// tried are the first awards that applies which may have been committed
	// held for this draw.
	tried []Award
	// done is closed once there is an answer, or none is to be expected.
	done chan struct{}
	draw Draw
	err  error
}

// The states of a waiter. One that gives up waiting knows that nothing
// happened. Once it is planned it may be committed at any moment, and only
// asking again with the same key tells.
const (
	waiting int32 = iota
	planned
	answered
	withdrawn // gave up waiting
	doubted   // gave up when planned
)

// giveUp ends the wait without an answer; false when there is one.
func (w *waiter) giveUp() bool {
	for {
		switch w.state.Load() {
		case waiting:
			if w.state.CompareAndSwap(waiting, withdrawn) {
				return true
			}
		case planned:
			if w.state.CompareAndSwap(planned, doubted) {
				return true
			}
		default:
			return false
		}
	}
}

// made says that a draw in the log is the doing of one of these tries.
func (w *waiter) made(known Draw) bool {
	return slices.ContainsFunc(w.tried, func(a Award) bool {
		k := &known.Awards[0]
		return a.Version == k.Version && a.PrizeID == k.PrizeID && a.Unit == k.Unit && a.At.Equal(k.At)
	})
}

// hasGivenUp says that nobody waits any more.
func (w *waiter) hasGivenUp() bool { return w.state.Load() >= withdrawn }

// answer lets the caller go with draw and err, if it still waits.
func (w *waiter) answer() {
	for s := w.state.Load(); s < answered; s = w.state.Load() {
		if w.state.CompareAndSwap(s, answered) {
			close(w.done)
		}
	}
}

// wait returns the answer, or what is known without one when the queue's time
// is over or ctx ends.
func (w *waiter) wait(ctx context.Context) (Draw, error) {
	if gone := ctx.Done(); gone == nil {
		<-w.done
	} else {
		select {
		case <-w.done:
		case <-gone:
			w.giveUp()
		}
	}
	switch w.state.Load() {
	case withdrawn:
		return Draw{}, Errorf(CodeContended, "the draw waited too long for its turn and was withdrawn; nothing happened")
	case doubted:
		return Draw{}, Errorf(CodeOutcomeUnknown, "the draw may or may not have happened; asking again with the key %q settles it", w.DrawID)
	default:
		return w.draw, w.err
	}
}
