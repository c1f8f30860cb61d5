package lockmode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/fault"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// decider decides a batch in repeated attempts, until one is committed or the policy
// gives up. Each mode has a decider with its own settings.
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
	// settle is the time for finding out the result of a commit whose response was lost.
	settle time.Duration
}

func newDecider(o Options, name string) *decider {
	return &decider{
		store: o.Store, replays: newReplayer(o), agendas: o.Agendas, observer: o.Observer, log: o.Log, givenUp: o.givenUp, name: name, resolve: o.resolve, now: o.Now, leapt: o.ClockLeapt, away: o.CodesAway,
		policy: policy{attempts: attemptsMax, budget: o.Budget}, settle: o.Settle,
	}
}

// decide attempts b until it is settled, in transactions of the given options. The
// first attempt may be planned from the cached copy of the pool; later attempts read
// the pool. Its error is a *draw.Error, errOtherMode or stock.ErrStaleToken.
func (d *decider) decide(ctx context.Context, b *group.Batch, o stock.TxOptions, cached bool) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.settle)
	defer cancel()
	var s spent
	var conflict error // the last conflict
	for {
		began := time.Now()
		fromCache, err := d.attempt(ctx, b, o, cached && d.policy.attempts > 1)
		cached = false
		if err == nil || errors.Is(err, errOtherMode) || errors.Is(err, stock.ErrStaleToken) {
			d.reportAttempt(b, began, err, err != nil)
			return err
		}
		class := stock.ClassOf(err)
		if class == stock.ClassConflict {
			conflict = err
		}
		if !errors.Is(err, stock.ErrKnownUser) { // the next attempt reads the user's turns
			s.add(class)
		}
		s.elapsed, s.inDoubt = time.Since(start), b.IsInDoubt()
		next := d.policy.next(class, s)
		if next == giveUp || ctx.Err() != nil {
			if class == stock.ClassUnavailable && ctx.Err() != nil && conflict != nil {
				err = conflict // the database answers: the time ended while the batch waited because of the conflict
			}
			d.reportAttempt(b, began, err, false)
			return d.giveUp(b, err)
		}
		d.reportAttempt(b, began, err, true)
		if d.replays.between(ctx, b, err) {
			return nil
		}
		if next == retryLocked {
			o.Lock = true
			s.locked++
		}
		if next == retryLater && !fromCache { // an outdated copy is read again at once
			backoff(ctx, s.attempts)
		}
		b.TopUp() // the draws that have arrived since
	}
}

// reportAttempt reports an attempt that ended with err, and whether another one follows.
func (d *decider) reportAttempt(b *group.Batch, began time.Time, err error, again bool) {
	reason := ""
	if again {
		reason = reasonOf(err)
	}
	d.observe(reason, began, err)
	b.Attempted(began, failureOf(err), again)
}

// observe reports an attempt that ended with err to the observer.
func (d *decider) observe(reason string, began time.Time, err error) {
	d.observer.Attempted(d.name, reason, time.Since(began))
	if e, ok := errors.AsType[*stock.Error](err); ok {
		switch e.Class {
		case stock.ClassUnavailable, stock.ClassUnknown:
			d.observer.DatabaseFailed(e.Reason)
		case stock.ClassOther: // its reason would be one of hundreds of codes of a database
			d.observer.DatabaseFailed(ReasonOther)
		default:
		}
	}
}

// ReasonOther is the reason of all unexpected errors of the database together.
const ReasonOther = "other"

// attempt runs one transaction: read, plan, write, settle. If the cached copy of the pool
// is enough to decide the batch, the pool is not read. Under rules that count users, the
// turns are read, which also shows whether the copy is current. If it is, the plan is the
// same as after reading the pool.
func (d *decider) attempt(ctx context.Context, b *group.Batch, o stock.TxOptions, cached bool) (fromCache bool, err error) {
	b.Urn.ClockLeapt, b.Urn.CodesAway = d.leapt(), d.away(b.Urn.PoolID)
	if fromCache = cached && b.IsPlainAt(d.now()); fromCache {
		b.TopUp() // whether the copy is still current is checked later
	}
	if fromCache {
		if plan := b.PlanCached(d.now()); plan != nil {
			fault.At(fault.BeforeWrite)
			return true, d.finish(b, plan, d.store.Write(ctx, plan, o))
		}
		fromCache = b.CountsUsers()
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
	if plan.IsDue() { // due items of the agenda come first, then another attempt
		b.Undo(plan)
		tx.Rollback() // otherwise the work on the items would wait for this attempt
		return fromCache, cmp.Or(d.agendas.RunDue(ctx, b.Urn.PoolID), error(stock.ErrDue))
	}
	if len(plan.Awards) > 0 {
		fault.At(fault.BeforeWrite)
	}
	return fromCache, d.finish(b, plan, tx.Write(ctx, plan))
}

// finish settles a plan that was written, or undoes it. After an unexpected error it
// drops the cached copy of the pool.
func (d *decider) finish(b *group.Batch, p *urn.Plan, err error) error {
	if err == nil {
		if len(p.Awards) > 0 {
			fault.At(fault.AfterCommit)
		}
		b.Settle(p)
		return nil
	}
	switch {
	case reasonOf(err) != stock.ReasonTurn:
	case p.IsSupposed():
		b.KnownUser()
		err = stock.ErrKnownUser
	default: // another program has written turns
		b.Urn.DropTurns()
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

// giveUp returns the error of draws that could not be decided.
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
		return draw.Wrap(draw.CodeContended, err, "the pool is busy and no attempts are left; this request drew nothing")
	}
}

// errInDoubt returns the error of a batch that may have been committed.
func errInDoubt(err error) error {
	return &draw.Error{
		Code:   draw.CodeOutcomeUnknown,
		Detail: "the draw may or may not have happened; a retry with the same key settles it",
		Err:    err,
	}
}

// namesMax is the maximum number of requests, and of pools, that a log line names.
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

// failureOf states why an attempt failed, in one word: its reason, or the code that its
// draws get.
func failureOf(err error) string {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return string(e.Code)
	}
	return reasonOf(err)
}
