package group

import (
	"slices"

	"drawsvc/internal/draw"
)

// Settle hands every planned answer to its caller. Only a plan that is
// durable, or that holds no awards, may be settled.
func (b *Batch) Settle(p *draw.Plan) {
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
	b.release(true, p.HasCodes())
	b.report(t)
}

// SettleReplays gives callers the draws that the log holds, and lets the others
// of the batch wait on. Where there are none, the batch is settled. p is a plan of
// [Batch.PlanReplays].
func (b *Batch) SettleReplays(p *draw.Plan) {
	var t tally
	var known []*waiter
	for i, w := range b.waiters {
		if !w.Skip && w.Log.Known() != nil {
			t.leave(w, p, i)
			known = append(known, w)
		}
	}
	if p.HasCodes() {
		b.queue.batcher.handOut(known)
	}
	wake(known)
	b.doubtSettled(t)
	b.Undo(p)
	if !slices.ContainsFunc(b.waiters, func(w *waiter) bool { return !w.hasAnswer() }) {
		b.release(true, false)
	}
	b.report(t)
}

// tally counts answers by their outcome.
type tally struct {
	wins, blanks, replays int
	refusals              map[draw.Code]int
}

// leave leaves the i-th answer of a plan with its waiter.
func (t *tally) leave(w *waiter, p *draw.Plan, i int) {
	w.draw, w.err = p.Answer(i)
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

// answers is how many there are.
func (t *tally) answers() int {
	n := t.wins + t.blanks + t.replays
	for _, refused := range t.refusals {
		n += refused
	}
	return n
}

// doubtSettled tells the observer of answers to draws that were in doubt.
func (b *Batch) doubtSettled(t tally) {
	if n := t.answers(); b.phase == inDoubt && n > 0 {
		b.queue.batcher.observer.DoubtSettled(n)
	}
}

// report tells the observer.
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

// fail gives every caller what err says of its draw. It is used when no plan could
// be written.
func (b *Batch) fail(err error) {
	b.spanFails(err)
	failed := map[draw.Code]int{}
	for _, w := range b.waiters {
		if !w.hasAnswer() {
			w.err = w.failure(err)
			failed[draw.CodeOf(w.err)]++
		}
	}
	b.release(false, false)
	for code, n := range failed {
		b.observe(string(code), n)
	}
}

// release lets every caller go with the answer that it was left, and with its codes
// where answers may need them.
func (b *Batch) release(isDecided, needsCodes bool) {
	b.queue.batcher.observer.Gathered(len(b.waiters), b.lookedUp, b.waited)
	b.phase = settled
	b.queue.notePace(b, isDecided)
	b.queue.batcher.wake(b.waiters, needsCodes)
}

// wakeMax is how many callers are woken sooner than a goroutine is made for it.
const wakeMax = 16

// wake answers draws. The next batch does not wait for that: to wake hundreds of
// callers, who then use the processors, would take longer than to send it.
func (b *Batcher) wake(all []*waiter, needsCodes bool) {
	if len(all) <= wakeMax && !needsCodes {
		wake(all)
		return
	}
	going := slices.Clone(all)
	b.working.Add(1)
	go func() {
		defer b.working.Done()
		if needsCodes {
			b.handOut(going)
		}
		wake(going)
	}()
}

func wake(all []*waiter) {
	for _, w := range all {
		w.answer()
	}
}
