package lockmode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// decider decides a batch in one attempt after another, until one is committed
// or the policy gives up. The modes differ in its settings.
type decider struct {
	store    Store
	replays  replayer
	agendas  Agendas
	observer Observer
	log      *slog.Logger
	givenUp  *givenUp
	name     string
	resolve  func(ofPool string) string
	now      func() time.Time
	leapt    func() error
	away     func(poolID string) error
	policy   policy
	// settle is the time to find out what became of a commit whose answer was
	// lost.
	settle time.Duration
}

func newDecider(o Options, name string) *decider {
	return &decider{
		store: o.Store, replays: newReplayer(o), agendas: o.Agendas, observer: o.Observer, log: o.Log, givenUp: o.givenUp, name: name, resolve: o.resolve, now: o.Now, leapt: o.ClockLeapt, away: o.CodesAway,
		policy: policy{attempts: attemptsMax, budget: o.Budget}, settle: o.Settle,
	}
}

// decide attempts b until it is settled, in transactions of the given options.
// The first attempt may be made from the cached copy of the pool; those after
// it read the pool. Its error is a *draw.Error, errOtherMode or
// stock.ErrStaleToken.
func (d *decider) decide(ctx context.Context, b *group.Batch, o stock.TxOptions, cached bool) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.settle)
	defer cancel()
	var s spent
	var conflict error // the last one
	for {
		began := time.Now()
		fromCache, err := d.attempt(ctx, b, o, cached && d.policy.attempts > 1)
		cached = false
		if err == nil || errors.Is(err, errOtherMode) || errors.Is(err, stock.ErrStaleToken) {
			d.attempted(b, began, err, err != nil)
			return err
		}
		class := stock.ClassOf(err)
		if class == stock.ClassConflict {
			conflict = err
		}
		s.add(class)
		s.elapsed, s.inDoubt = time.Since(start), b.IsInDoubt()
		next := d.policy.next(class, s)
		if next == giveUp || ctx.Err() != nil {
			if class == stock.ClassUnavailable && ctx.Err() != nil && conflict != nil {
				err = conflict // the database answers, and the time ran out while it let this wait again
			}
			d.attempted(b, began, err, false)
			return d.giveUp(b, err)
		}
		d.attempted(b, began, err, true)
		if d.replays.between(ctx, b, err) {
			return nil
		}
		if next == retryLocked {
			o.Lock = true
			s.locked++
		}
		if next == retryLater && !fromCache { // a copy that is out of date is read anew at once
			backoff(ctx, s.attempts)
		}
		b.TopUp() // what came meanwhile
	}
}

// attempted reports an attempt that ended in err, and whether another one follows.
func (d *decider) attempted(b *group.Batch, began time.Time, err error, again bool) {
	reason := ""
	if again {
		reason = reasonOf(err)
	}
	d.observer.Attempted(d.name, reason, time.Since(began))
	b.Attempted(began, failureOf(err), again)
}

// attempt is one transaction: read, plan, write, settle. From the cached copy of
// the pool, where it can decide the batch, it is planned without reading the pool.
// Where rules count users, the read of their turns says whether the copy is the
// pool as it is: then the plan is as good as one from a pool that was read.
func (d *decider) attempt(ctx context.Context, b *group.Batch, o stock.TxOptions, cached bool) (fromCache bool, err error) {
	b.Urn.ClockLeapt, b.Urn.CodesAway = d.leapt(), d.away(b.Urn.PoolID)
	if fromCache = cached && b.IsPlainAt(d.now()); fromCache {
		b.TopUp() // whether the copy is still the pool is seen later
	}
	if fromCache && !b.CountsUsers() {
		if plan := b.PlanCached(d.now()); plan != nil {
			fault.At(fault.BeforeWrite)
			return true, d.finish(b, plan, d.store.Write(ctx, plan, o))
		}
		fromCache = false
	}
	var tx stock.Tx
	if fromCache {
		tx, err = d.store.Resume(ctx, o)
	} else {
		tx, err = d.store.Read(ctx, b.Urn, o)
	}
	if err != nil {
		return fromCache, err
	}
	defer tx.Rollback()
	if d.resolve(b.Urn.Mode) != d.name {
		return fromCache, errOtherMode
	}
	plan, err := b.Plan(ctx, d.now(), tx, o.Lock && !fromCache)
	if err != nil {
		return fromCache, err
	}
	if plan.IsDue() { // what the agenda has comes first, and another attempt behind it
		b.Undo(plan)
		tx.Rollback() // else the items would wait for this attempt
		return fromCache, cmp.Or(d.agendas.RunDue(ctx, b.Urn.PoolID), error(stock.ErrDue))
	}
	if len(plan.Awards) > 0 {
		fault.At(fault.BeforeWrite)
	}
	return fromCache, d.finish(b, plan, tx.Write(ctx, plan))
}

// finish settles a plan that was written, or undoes it. After any error but
// the usual ones the cached copy of the pool is no longer trusted.
func (d *decider) finish(b *group.Batch, p *draw.Plan, err error) error {
	if err == nil {
		if len(p.Awards) > 0 {
			fault.At(fault.AfterCommit)
		}
		b.Settle(p)
		return nil
	}
	switch stock.ClassOf(err) {
	case stock.ClassConflict, stock.ClassStaleToken:
		b.Undo(p)
	case stock.ClassKnownKey:
		b.KnownKey()
		b.Undo(p)
	case stock.ClassUnknown:
		b.InDoubt(p)
		b.Urn.Invalidate()
	default:
		b.Undo(p)
		b.Urn.Invalidate()
	}
	return err
}

// giveUp is the answer to draws that could not be decided.
func (d *decider) giveUp(b *group.Batch, err error) error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	d.givenUp.note(d.name, b, err)
	switch class := stock.ClassOf(err); {
	case class == stock.ClassOther:
		return draw.WrapInternal(err, "the draw failed")
	case b.IsInDoubt():
		return errInDoubt(err)
	case class == stock.ClassUnavailable:
		return stock.ErrorUnavailable(err)
	default:
		return draw.Wrap(draw.CodeContended, err, "the pool is busy and the attempts are spent; this request drew nothing")
	}
}

// errInDoubt is the error of a batch that may have been committed.
func errInDoubt(err error) error {
	return &draw.Error{
		Code:   draw.CodeOutcomeUnknown,
		Detail: "the draw may or may not have happened; a retry with the same key settles it",
		Err:    err,
	}
}

// namesMax is the most requests, and the most pools, that a line of the log
// names.
const namesMax = 10

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*stock.Error](err); ok {
		return e.Reason
	}
	return "mode"
}

// failureOf is what an attempt failed for, in one word: its reason, or the code
// that its draws get.
func failureOf(err error) string {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return string(e.Code)
	}
	return reasonOf(err)
}
