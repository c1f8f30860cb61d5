package group

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// waiter is a request and the place where its answer is left.
type waiter struct {
	urn.Ask
	// requestID names the request in the log, "" for nothing.
	requestID string
	since     time.Time
	// queue is where the draw waits.
	queue *queue
	state atomic.Int32
	// followed is nil for a draw that is not traced.
	followed *followed
	// done is closed once there is an answer, or none is to be expected.
	done chan struct{}
	draw draw.Draw
	err  error
}

// The states of a waiter. One that gives up waiting has drawn nothing. Once it
// is planned it may be committed at any moment, and only a retry with the same
// key settles it.
const (
	waiting int32 = iota
	planned
	answered
	withdrawn // gave up waiting
	unknown   // gave up when planned
)

// mayBeLogged reports whether the log holds the draw, or was asked for it and has not
// answered.
func (w *waiter) mayBeLogged() bool {
	logged := w.Log.State()
	return logged == urn.LogAsking || logged == urn.LogKnown
}

// giveUp ends the wait without an answer; false when there is one.
func (w *waiter) giveUp() bool {
	for {
		switch w.state.Load() {
		case waiting:
			if w.state.CompareAndSwap(waiting, withdrawn) {
				return true
			}
		case planned:
			if w.state.CompareAndSwap(planned, unknown) {
				return true
			}
		default:
			return false
		}
	}
}

// inDoubt is the error of a draw that may have happened, for a reason. It tells the
// draw's name: where the service has made it, nobody else could ask for it again.
func (w *waiter) inDoubt(reason error) error {
	detail := fmt.Sprintf("the draw may or may not have happened; a retry with the key %q settles it", w.DrawID)
	return &draw.Error{Code: draw.CodeOutcomeUnknown, Detail: detail, Err: reason}
}

// failure is what becomes of the draw where no plan could be written. Of one that
// the log was seen to hold nobody says that nothing happened, nor that the pool is
// contended where the log was asked for the key and has never answered, or not since
// a write met a known key. The other codes say nothing of the key.
func (w *waiter) failure(err error) error {
	switch draw.CodeOf(err) {
	case draw.CodeOutcomeUnknown:
		return w.inDoubt(err)
	case draw.CodeContended:
		if w.mayBeLogged() {
			return w.inDoubt(err)
		}
	case draw.CodeLockUnavailable, draw.CodeStoreUnavailable:
		if w.Log.State() == urn.LogKnown {
			return w.inDoubt(err)
		}
	default:
	}
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return w.unasked(e)
	}
	return err
}

// unasked is the refusal of a draw for which no plan was made. Of a key that the log
// was not asked for, or has not answered, nobody knows what an earlier request did.
func (w *waiter) unasked(err *draw.Error) *draw.Error {
	if !w.Named || w.Log.State() == urn.LogAbsent || err.Code == draw.CodePoolNotFound {
		return err
	}
	refusal := *err
	refusal.KeyUnasked = true
	return &refusal
}

// hasAnswer says that nobody waits any more.
func (w *waiter) hasAnswer() bool { return w.state.Load() >= answered }

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
func (w *waiter) wait(ctx context.Context) (draw.Draw, error) {
	if done := ctx.Done(); done == nil {
		<-w.done
	} else {
		select {
		case <-w.done:
		case <-done:
			w.giveUp()
		}
	}
	switch w.state.Load() {
	case withdrawn:
		if w.mayBeLogged() {
			return draw.Draw{}, w.inDoubt(nil)
		}
		return draw.Draw{}, w.unasked(w.queue.troubleOr(draw.Errorf(draw.CodeContended, "the draw waited too long for its turn, and drew nothing")))
	case unknown:
		return draw.Draw{}, w.inDoubt(nil)
	default:
		return w.draw, w.err
	}
}
