package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// waiter is a request, with the place for its answer.
type waiter struct {
	urn.Ask
	// requestID names the request in the service's log, "" if nothing does.
	requestID string
	since     time.Time
	// queue is where the draw waits.
	queue *queue
	state atomic.Int32
	// followed is nil for a draw that is not traced.
	followed *followed
	// done is closed when there is an answer, or when the caller no longer waits for one.
	done chan struct{}
	draw draw.Draw
	err  error
}

// The states of a waiter. If it gives up while it waits, nothing was drawn. Once it is
// planned, it may be committed at any moment. If it gives up then, only a retry with the
// same key shows what happened.
const (
	waiting int32 = iota
	planned
	answered
	withdrawn // gave up while it waited
	unknown   // gave up after it was planned
)

// mayBeLogged reports whether the log has the draw, or was asked for it and has not
// answered yet.
func (w *waiter) mayBeLogged() bool {
	logged := w.Log.State()
	return logged == urn.LogAsking || logged == urn.LogKnown
}

// giveUp ends the wait without an answer. It returns false if there is an answer.
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
// has the draw's name: if the service created the name, the caller needs it to request
// the draw again.
func (w *waiter) inDoubt(reason error) error {
	detail := fmt.Sprintf("the draw may or may not have happened; a retry with the key %q settles it", w.DrawID)
	return &draw.Error{Code: draw.CodeOutcomeUnknown, Detail: detail, Err: reason}
}

// failure returns the error of a draw for which no plan could be written. If a lookup
// found the draw in the log, the error does not say that nothing happened. If a lookup of
// the key got no answer, or if a write has met a known key since, the error does not say
// that the pool is contended. The other codes say nothing about the key.
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

// unasked returns the refusal of a draw for which no plan was made. If the log was not
// asked for the key, the refusal states that an earlier request with the key may have
// drawn.
func (w *waiter) unasked(err *draw.Error) *draw.Error {
	if !w.Named || w.Log.State() == urn.LogAbsent || err.Code == draw.CodePoolNotFound {
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

// wait returns the answer. If the queue's timeout or ctx ends first, it returns what is
// known by then.
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

// Settle gives every planned answer to its caller. A plan may be settled only if it is
// durable or has no awards.
func (b *Batch) Settle(p *urn.Plan) {
	p.Settle()
	var t tally
	for i, w := range b.waiters {
		if !w.Skip {
			t.leave(w, p, i)
		}
	}
	b.queue.noteSoldOut(b, p, t.refusals[draw.CodeSoldOut] > 0)
	b.doubtSettled(t)
	b.queue.trouble.Store(nil)
	b.release(true)
	b.report(t)
}

// SettleReplays answers the draws that the log has. The other draws of the batch continue
// to wait. If there are none, the batch is settled. p is a plan from [Batch.PlanReplays].
func (b *Batch) SettleReplays(p *urn.Plan) {
	var t tally
	var known []*waiter
	for i, w := range b.waiters {
		if !w.Skip && w.Log.Known() != nil {
			t.leave(w, p, i)
			known = append(known, w)
		}
	}
	b.queue.batcher.handOut(withCodes(known))
	wake(known)
	b.doubtSettled(t)
	b.Undo(p)
	if !slices.ContainsFunc(b.waiters, func(w *waiter) bool { return !w.hasAnswer() }) {
		b.release(true)
	}
	b.report(t)
}

// tally counts answers by their outcome.
type tally struct {
	wins, blanks, replays int
	refusals              map[draw.Code]int
}

// leave stores the answer to the i-th request of a plan in its waiter, and counts it.
func (t *tally) leave(w *waiter, p *urn.Plan, i int) {
	w.draw, w.err = p.Answer(i)
	//double:refuses-in-doubt w.err != nil && p.MayLand(i) => false
	if w.err != nil && p.MayLand(i) {
		w.err = w.inDoubt(w.err)
	}
	switch {
	case w.err != nil:
		if t.refusals == nil {
			t.refusals = map[draw.Code]int{}
		}
		t.refusals[draw.CodeOf(w.err)]++
	case w.draw.Replayed:
		t.replays++
	case !w.draw.Wins():
		t.blanks++
	default:
		t.wins++
	}
}

// answers returns the number of counted answers.
func (t *tally) answers() int {
	n := t.wins + t.blanks + t.replays
	for _, refused := range t.refusals {
		n += refused
	}
	return n
}

// doubtSettled reports to the observer how many draws in doubt have been answered.
func (b *Batch) doubtSettled(t tally) {
	if n := t.answers() - t.refusals[draw.CodeOutcomeUnknown]; b.phase == inDoubt && n > 0 {
		b.queue.batcher.observer.DoubtSettled(n)
	}
}

// report reports the counted answers to the observer.
func (b *Batch) report(t tally) {
	b.observe(OutcomeWon, t.wins)
	b.observe(OutcomeBlank, t.blanks)
	b.observe(OutcomeReplayed, t.replays)
	for code, n := range t.refusals {
		b.observe(string(code), n)
	}
}

func (b *Batch) observe(outcome string, draws int) {
	if draws > 0 {
		b.queue.batcher.observer.Answered(b.Mode(), outcome, draws)
	}
}

// fail gives every caller the error that its draw gets because of err. It is used if no
// plan could be written.
func (b *Batch) fail(err error) {
	b.spanFails(err)
	failed := map[draw.Code]int{}
	for _, w := range b.waiters {
		if !w.hasAnswer() {
			w.err = w.failure(err)
			failed[draw.CodeOf(w.err)]++
		}
	}
	b.release(false)
	for code, n := range failed {
		b.observe(string(code), n)
	}
}

// release wakes every caller with the answer that is stored for it.
func (b *Batch) release(isDecided bool) {
	b.queue.batcher.observer.Gathered(len(b.waiters), b.lookedUp, b.waited)
	b.phase = settled
	b.queue.notePace(b, isDecided)
	b.queue.batcher.wake(b.waiters)
}

// wakeMax is the maximum number of callers that are woken without a separate goroutine.
// For so few, starting one would take longer.
const wakeMax = 16

// wake answers draws, once their codes are read and the receipts of new ones are signed.
// The next batch does not wait for this. Waking hundreds of callers takes longer than
// sending the batch, because the callers then use the processors. A signature takes
// longer too.
func (b *Batcher) wake(all []*waiter) {
	made, coded := withReceipts(all), withCodes(all)
	if len(all) <= wakeMax && len(made) < receiptsTogetherMin && len(coded) == 0 {
		wake(all)
		return
	}
	going := slices.Clone(all)
	b.working.Add(1)
	go func() {
		defer b.working.Done()
		b.handOut(coded)
		if len(made) >= receiptsTogetherMin {
			signReceipts(made)
		}
		wake(going)
	}()
}

func wake(all []*waiter) {
	for _, w := range all {
		w.answer()
	}
}
