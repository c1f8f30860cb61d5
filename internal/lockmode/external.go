package lockmode

import (
	"context"
	"errors"
	"log/slog"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// external first takes a lock outside the prize rows. The lock makes other instances
// wait. Because no lock is reliable, the write compares the lock's token with the token
// of the last writer, and checks the pool's version.
type external struct {
	decider  *decider
	locker   Locker
	name     string
	observer Observer
	log      *slog.Logger
}

func newExternal(o Options) mode {
	d := newDecider(o, External)
	d.policy.lockLast = true // changes of stock do not take the lock, so they may win every time
	return &external{decider: d, locker: o.Locker, name: o.LockName, observer: o.Observer, log: o.Log}
}

const (
	// heldBatchesMax is how many batches one hold of the lock may decide while
	// draws keep coming, before others get their turn.
	heldBatchesMax = 16
	// staleMax is how often a batch takes the lock again after the write rejected its
	// token as stale. Each time it gets a new, higher token. If all of them are below the
	// fence, the lock service has lost its count, because it was emptied or replaced. The
	// last attempt then restarts the count. The write is still guarded by the version of
	// the pool.
	staleMax = 4
	// lostMax is how often a batch takes the lock again after losing it.
	lostMax = 4
)

// errLost means that the lock was lost while the batch was decided.
var errLost = errors.New("lockmode: the lock was lost")

func (m *external) issue(ctx context.Context, b *group.Batch) error {
	stale, lost := 0, 0
	for {
		err := m.decideHeld(ctx, b, stale == staleMax-1)
		switch {
		case errors.Is(err, stock.ErrStaleToken):
			stale++
			m.observer.StaleToken()
			m.log.WarnContext(b.Context(), "stale token rejected", "lock", m.name, "pool", b.Urn.PoolID, "attempt", stale)
		case errors.Is(err, errLost):
			lost++
		default:
			if draw.CodeOf(err) == draw.CodeLockUnavailable {
				m.decider.givenUp.note(External, b, err)
			}
			return err
		}
		if stale == staleMax || lost == lostMax {
			m.decider.givenUp.note(External, b, err)
			return draw.Wrap(draw.CodeContended, err, "the pool's lock was overtaken; this request drew nothing")
		}
		if m.decider.replays.between(ctx, b, err) {
			return nil
		}
		backoff(ctx, stale+lost)
	}
}

// decideHeld decides batches under one hold of the lock.
func (m *external) decideHeld(ctx context.Context, b *group.Batch, reset bool) error {
	return m.locker.WithLock(ctx, b.Urn.PoolID, func(ctx context.Context, token int64) error {
		b.TopUp() // the draws that have arrived while this batch waited for the lock
		for n := 1; ; n++ {
			fence := stock.Fence{Lock: m.name, Token: token, Reset: reset}
			err := m.decider.decide(ctx, b, stock.TxOptions{Fence: fence}, true)
			if err != nil && ctx.Err() != nil {
				return errLost
			}
			if err != nil {
				return err
			}
			if n == heldBatchesMax || !b.Next() {
				return nil
			}
		}
	})
}
