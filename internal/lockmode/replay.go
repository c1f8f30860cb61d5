package lockmode

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

const (
	// replayReadsMax is the maximum number of reads of a pool before a lookup of keys in
	// its log. More than one may be needed, because a read without a lock may conflict
	// with concurrent writes, and there is no later attempt.
	replayReadsMax = 8
	// replayPart determines the time for one lookup: Options.Settle divided by
	// replayPart.
	replayPart = 9
)

// replayer answers known keys while their batch waits for others: a known key is
// answered even if something else is exhausted, busy or unreachable (law 4). It needs
// no lock.
type replayer struct {
	store Store
	max   time.Duration
}

func newReplayer(o Options) replayer { return replayer{o.Store, o.Settle / replayPart} }

// between answers the draws of b that the log already holds, if the batch has to wait for
// others or gets no further attempt. It is called before, between and after the attempts,
// and reports whether the batch is settled. failed is the error of the last attempt, nil
// before the first. If it is a *draw.Error, the batch is given up, and the draws that are
// not found end with that error. A draw that was found is in doubt if the database has
// not confirmed that it is safe.
func (r replayer) between(ctx context.Context, b *group.Batch, failed error) (isSettled bool) {
	if !mustWait(b, failed) || !b.AsksLog() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.max)
	defer cancel()
	settle := b.SettleReplays
	if endsBatch(failed) {
		settle = b.Settle
	}
	r.replay(ctx, b, failed, settle)
	return b.IsSettled()
}

func endsBatch(failed error) bool {
	_, ok := errors.AsType[*draw.Error](failed)
	return ok
}

// mustWait reports whether a batch has to wait for others after an error.
func mustWait(b *group.Batch, failed error) bool {
	switch {
	case failed == nil: // the batch before may have used up most of the draws' time
		return b.IsBehindVain()
	case endsBatch(failed):
		return slices.Contains([]draw.Code{draw.CodeContended, draw.CodeLockUnavailable, draw.CodeRulesUnreadable, draw.CodeClockLeapt}, draw.CodeOf(failed))
	case errors.Is(failed, errLost), errors.Is(failed, stock.ErrStaleToken): // it waits for the lock
		return true
	default: // it waits for the holder of the row
		return reasonOf(failed) == stock.ReasonLockWait && !b.IsInDoubt()
	}
}

// replay calls settle with a plan in which all draws that the log does not hold end
// with failed. If the log cannot be read, nothing changes.
func (r replayer) replay(ctx context.Context, b *group.Batch, failed error, settle func(*urn.Plan)) {
	tx, err := r.store.Read(ctx, b.Urn, stock.TxOptions{})
	for n := 1; n < replayReadsMax && stock.ClassOf(err) == stock.ClassConflict && ctx.Err() == nil; n++ {
		tx, err = r.store.Read(ctx, b.Urn, stock.TxOptions{})
	}
	if err != nil {
		return
	}
	defer tx.Rollback()
	plan, err := b.PlanReplays(ctx, cmp.Or(failed, errNotPlanned), tx)
	if err != nil || plan == nil {
		return
	}
	if tx.Write(ctx, plan) != nil { // it writes nothing, and fails unless the draws that were found are as safe as acknowledged ones
		b.Undo(plan)
		return
	}
	settle(plan)
}

// errNotPlanned is the error that a plan of replays has for all other draws, so that it
// gives them no units.
var errNotPlanned = errors.New("lockmode: the draw is planned later")
