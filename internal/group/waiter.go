package group

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
)

// waiter is a request and the place for its answer.
type waiter struct {
	draw.Ask
	// requestID names the request in the log, "" for nothing.
	requestID string
	since     time.Time
	// queue is where the draw waits.
	queue *queue
	state atomic.Int32
	// followed is nil for a draw that is not traced.
	followed *followed
	// done is closed once there is an answer, or when none is expected any more.
	done chan struct{}
	draw draw.Draw
	err  error
}

// The states of a waiter. If it gives up while waiting, nothing was drawn. Once it is
// planned it may be committed at any moment, and only a retry with the same key settles
// it.
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
	return logged == draw.LogAsking || logged == draw.LogKnown
}

// giveUp ends the wait without an answer; it returns false if there is one.
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

// inDoubt returns the error of a draw that may have happened, with a reason. The error
// has the draw's name: if the service created the name, nobody else could ask for the
// draw again.
func (w *waiter) inDoubt(reason error) error {
	detail := fmt.Sprintf("the draw may or may not have happened; a retry with the key %q settles it", w.DrawID)
	return &draw.Error{Code: draw.CodeOutcomeUnknown, Detail: detail, Err: reason}
}

// failure returns the error of a draw for which no plan could be written. If the log
// was seen to hold the draw, the error does not say that nothing happened. It does not
// say that the pool is contended either if the log was asked for the key and never
// answered, or has not answered since a write met a known key. The other codes say
// nothing of the key.
func (w *waiter) failure(err error) error {
	switch draw.CodeOf(err) {
	case draw.CodeOutcomeUnknown:
		return w.inDoubt(err)
	case draw.CodeContended:
		if w.mayBeLogged() {
			return w.inDoubt(err)
		}
	case draw.CodeLockUnavailable, draw.CodeStoreUnavailable:
		if w.Log.State() == draw.LogKnown {
			return w.inDoubt(err)
		}
	default:
	}
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return w.unasked(e)
	}
	return err
}

// unasked returns the refusal of a draw for which no plan was made. If the log was not
// asked for the key, or has not answered, nobody knows what an earlier request did.
func (w *waiter) unasked(err *draw.Error) *draw.Error {
	if !w.Named || w.Log.State() == draw.LogAbsent || err.Code == draw.CodePoolNotFound {
		return err
	}
	refusal := *err
	refusal.KeyUnasked = true
	return &refusal
}

// hasAnswer reports whether the waiter no longer waits.
func (w *waiter) hasAnswer() bool { return w.state.Load() >= answered }

// answer gives draw and err to the caller if it still waits.
func (w *waiter) answer() {
	for s := w.state.Load(); s < answered; s = w.state.Load() {
		if w.state.CompareAndSwap(s, answered) {
			close(w.done)
		}
	}
}

// wait returns the answer, or what is known without one if the queue's time is over or
// ctx ends.
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
