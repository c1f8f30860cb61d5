package lockmode

import (
	"context"
	"errors"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// replayReadsMax is how often a pool is read before its log is asked for keys.
// Without a lock, a read conflicts with whoever writes meanwhile, and there is no
// later one.
const replayReadsMax = 8

// replay answers the draws of b that the log holds already, by handing settle a
// plan in which all others end with err. A known key is answered whatever else
// is spent, busy or away (law 4). Where the log cannot be asked, nothing
// changes: the batch has its error. A draw that was found and is not said to be
// safe is in doubt.
func replay(ctx context.Context, s Store, b *group.Batch, err error, settle func(*draw.Plan)) {
	if !b.AsksLog() {
		return
	}
	tx, failed := s.Read(ctx, b.Urn, stock.TxOptions{})
	for n := 1; n < replayReadsMax && stock.ClassOf(failed) == stock.ClassConflict && ctx.Err() == nil; n++ {
		tx, failed = s.Read(ctx, b.Urn, stock.TxOptions{})
	}
	if failed != nil {
		return
	}
	defer tx.Rollback()
	plan, failed := b.PlanReplays(ctx, err, tx)
	if failed != nil || plan == nil {
		return
	}
	if tx.Write(ctx, plan) != nil { // what was found may not be as safe as what is acknowledged
		b.Undo(plan)
		return
	}
	settle(plan)
}

// replayWithin is replay that ends after a time, where the batch has no end of its own.
func replayWithin(ctx context.Context, most time.Duration, s Store, b *group.Batch, err error, settle func(*draw.Plan)) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	replay(ctx, s, b, err, settle)
}

// lastReplay is the end of a batch that its mode gave up with err: draws that
// the log holds are answered all the same.
func (s *Switch) lastReplay(ctx context.Context, b *group.Batch, err error) error {
	err = inDoubt(b, err)
	if !slices.Contains([]draw.Code{draw.CodeContended, draw.CodeLockUnavailable, draw.CodeRulesUnreadable, draw.CodeClockLeapt}, draw.CodeOf(err)) {
		return err
	}
	b.WaitedInVain()
	replayWithin(ctx, s.replayMax, s.store, b, err, b.Settle)
	if b.IsSettled() {
		return nil
	}
	return err
}

// firstReplay is the beginning of a batch whose draws have waited long behind one
// that was given up, in doubt or because of others: those that the log holds may
// have no time left to wait for a lock.
func (s *Switch) firstReplay(ctx context.Context, b *group.Batch) {
	if !b.IsBehindVain() {
		return
	}
	b.SetMode(s.name(b.Urn.Mode))
	replayWithin(ctx, s.replayMax, s.store, b, errNotPlanned, b.SettleReplays)
}

// errNotPlanned keeps a plan of replays from giving units to the other draws.
var errNotPlanned = errors.New("lockmode: the draw is planned later")

// inDoubt keeps errors that say that nothing happened from callers whose draws
// may have been committed by an earlier attempt.
func inDoubt(b *group.Batch, err error) error {
	if b.IsInDoubt() && draw.CodeOf(err) != draw.CodeInternal && draw.CodeOf(err) != draw.CodeOutcomeUnknown {
		return errInDoubt(err)
	}
	return err
}

func errInDoubt(err error) error {
	return &draw.Error{
		Code:   draw.CodeOutcomeUnknown,
		Detail: "the draw may or may not have happened; a retry with the same key settles it",
		Err:    err,
	}
}

// replayPart is the part of Options.Settle that a lookup in the log may take before or
// behind all attempts, or between two holds of a lock, on top of it.
const replayPart = 9

func replayMax(o Options) time.Duration { return o.Settle / replayPart }
