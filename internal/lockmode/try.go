package lockmode

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock"
)

// trier decides a batch in one transaction after another, until one is
// committed or the bounds are spent. The modes differ in its settings.
type trier struct {
	store    Store
	observer Observer
	log      *slog.Logger
	name     string
	resolve  func(ofPool string) string
	// tries and budget bound what is repeated, whichever ends first.
	tries  int
	budget time.Duration
	// settle is the time to find out what became of a commit whose answer was
	// lost.
	settle time.Duration
}

func newTrier(o Options, name string) *trier {
	return &trier{
		store: o.Store, observer: o.Observer, log: o.Log, name: name, resolve: o.resolve,
		tries: triesMax, budget: o.Budget, settle: o.Settle,
	}
}

const (
	// triesMax bounds the tries of modes that wait for a lock, where a
	// conflict is the exception.
	triesMax = 10
	// unavailableTries bounds the tries at a database that does not answer: a
	// second one finds out whether just one connection was dead.
	unavailableTries = 3
)

// decide tries b until it is settled, in transactions of the given options.
// Its error is a *draw.Error, errOtherMode or stock.ErrStaleLock.
func (t *trier) decide(ctx context.Context, b *draw.Batch, o stock.TxOptions) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, t.settle)
	defer cancel()
	unavailable := 0
	var conflict error // the last one
	for n := 1; ; n++ {
		o.Remembered = n < t.tries && b.IsRemembered() // the last try looks
		began := time.Now()
		err := t.try(ctx, b, o)
		if err == nil || errors.Is(err, errOtherMode) || errors.Is(err, stock.ErrStaleLock) {
			t.observer.Tried(t.name, reasonOf(err), time.Since(began))
			return err
		}
		class := stock.ClassOf(err)
		if class == stock.ClassUnavailable {
			unavailable++
		} else if class == stock.ClassConflict {
			conflict = err
		}
		spent := time.Since(start) >= t.budget || n >= t.tries || unavailable >= unavailableTries
		again := class == stock.ClassConflict || class == stock.ClassKnownKey || class == stock.ClassUnavailable
		if b.IsUnsure() { // worth more patience: somebody may have won
			spent, again = false, again || class == stock.ClassUnknown
		}
		if !again || spent || ctx.Err() != nil {
			if class == stock.ClassUnavailable && ctx.Err() != nil && conflict != nil {
				err = conflict // the database answers, and the time ran out while it let this wait again
			}
			t.observer.Tried(t.name, "", time.Since(began))
			return t.giveUp(b, err)
		}
		t.observer.Tried(t.name, reasonOf(err), time.Since(began))
		if o.Remembered {
			b.Urn.Confirmed = 0 // look, at once
		} else if class != stock.ClassKnownKey {
			backoff(ctx, n)
		}
	}
}

// try is one transaction.
func (t *trier) try(ctx context.Context, b *draw.Batch, o stock.TxOptions) error {
	b.TopUp() // what came while this waited for its lock, or to try again
	tx, err := t.store.Begin(ctx, b.Urn, o)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if t.resolve(b.Urn.Mode) != t.name {
		return errOtherMode
	}
	lookUp := tx.Draws
	if o.Remembered {
		lookUp = noLook
	} else if o.Lock {
		b.TopUp() // nobody can have changed the pool since it was read
	}
	plan, err := planOf(ctx, b, time.Now(), o.Remembered, lookUp)
	if err != nil {
		return err
	}
	if len(plan.Awards) > 0 {
		fault.At(fault.BeforeWrite)
	}
	if err := tx.Apply(ctx, plan); err != nil {
		t.undo(b, plan, err)
		return err
	}
	if len(plan.Awards) > 0 {
		fault.At(fault.AfterCommit)
	}
	b.Settle(plan)
	return nil
}

func (t *trier) undo(b *draw.Batch, p *draw.Plan, err error) {
	switch stock.ClassOf(err) {
	case stock.ClassConflict, stock.ClassStaleLock, stock.ClassUnavailable:
		b.Undo(p)
	case stock.ClassKnownKey:
		b.Undo(p)
		b.KnownKey()
	default: // ClassUnknown, and what nobody expects
		b.Unsure(p)
	}
}

// planOf plans b; of a pool that is only remembered, a plan that refuses a draw
// is none.
func planOf(ctx context.Context, b *draw.Batch, now time.Time, remembered bool, lookUp draw.LookUp) (*draw.Plan, error) {
	plan, err := b.Plan(ctx, now, lookUp)
	if err == nil && remembered && !plan.Grants() {
		b.Undo(plan)
		return nil, errLook
	}
	return plan, err
}

// errLook: what is remembered of the pool is not enough to refuse a draw.
var errLook = &stock.Error{Class: stock.ClassConflict, Reason: "look"}

// noLook stands in for a look at the log that has to wait for one at the pool.
func noLook(context.Context, string, []string) (map[string]draw.Draw, error) { return nil, errLook }

// giveUp is the answer to draws that could not be decided.
func (t *trier) giveUp(b *draw.Batch, err error) error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	t.log.Warn("batch given up", "mode", t.name, "draws", b.Draws(), "error", err)
	switch class := stock.ClassOf(err); {
	case class == stock.ClassOther:
		return draw.Wrap(draw.CodeInternal, err, "the draw failed")
	case b.IsUnsure():
		return errUnsure(err)
	case class == stock.ClassUnavailable:
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database does not answer; nothing happened")
	default:
		return draw.Wrap(draw.CodeContended, err, "the pool is busy and the tries are spent; nothing happened")
	}
}

func errUnsure(err error) error {
	return &draw.Error{
		Code:   draw.CodeOutcomeUnknown,
		Detail: "the draw may or may not have happened; asking again with the same key settles it",
		Err:    err,
	}
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*stock.Error](err); ok {
		return e.Reason
	}
	return "mode"
}
