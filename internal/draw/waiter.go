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
	// asked says that the log was asked about the draw after the pool was read
	// for the present plan; known is what it holds, nil for nothing.
	asked bool
	known *Draw
	// mustAsk: the log has to be asked before the draw is planned.
	mustAsk bool
	// tried are the first awards that writes which may have been committed
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

// hasAnswer says that nobody waits any more.
func (w *waiter) hasAnswer() bool { return w.state.Load() >= answered }

// mayBeKnown says that the log may hold the draw: its caller chose the name,
// or a write of it may have been committed. A name that the service has just
// made is new.
func (w *waiter) mayBeKnown() bool { return w.Named || w.mustAsk }

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
