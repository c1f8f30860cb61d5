package stock

import (
	"context"
	"database/sql"
	"time"

	"drawsvc/internal/draw"
)

// UnreadablePart is stored data that this binary cannot read: rules, or an item.
type UnreadablePart struct {
	PoolID string
	// Version is the version of the rules in force, 0 if this is an item. Item is the
	// number of a planned item, 0 if these are rules.
	Version, Item int64
	// Why is the reason why it cannot be read.
	Why error
}

// Watched is what an instance watches in the rules in force and the planned items.
type Watched struct {
	// Low lists the prizes of open pools with fewer units left than the warning level of
	// the rules, ordered by pool and prize.
	Low []draw.LowPrize
	// Unreadable lists the data that this binary cannot read: rules of pools that are not
	// closed, and items among the 1,000 that are due next. Such a pool gives no new draws
	// here, or will give none once the item is due.
	Unreadable []UnreadablePart
	// Overdue is how long the first planned item that is not a moment has been due; 0 if
	// none is due.
	Overdue time.Duration
}

// ReadWatched reads the watched data from one snapshot. It reads prizes only of pools
// whose rules name some. Errors: those of the store.
func (s *Store) ReadWatched(ctx context.Context) (w Watched, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		w = Watched{}
		rulings, err := s.rulesInForce(ctx, tx, draw.StateOpen, draw.StatePaused)
		if err != nil {
			return err
		}
		for _, r := range rulings {
			if why := r.Rules.Unreadable(); why != nil {
				w.Unreadable = append(w.Unreadable, UnreadablePart{PoolID: r.PoolID, Version: r.Version, Why: why})
			}
			if len(r.Rules.Low) == 0 || r.state != draw.StateOpen {
				continue
			}
			prizes, err := s.ledger.Prizes(ctx, tx, r.PoolID)
			if err != nil {
				return err
			}
			w.Low = append(w.Low, r.Rules.LowOf(r.PoolID, prizes)...)
		}
		now := s.Now()
		return s.NextItems(ctx, tx, itemsReadMax, func(poolID string, item *draw.Item) {
			w.Overdue = max(w.Overdue, now.Sub(item.At))
			if why := item.Unreadable(); why != nil {
				w.Unreadable = append(w.Unreadable, UnreadablePart{PoolID: poolID, Item: item.Number, Why: why})
			}
		})
	})
	if err == nil {
		s.hasUnreadable.Store(len(w.Unreadable) > 0)
	}
	return w, err
}

// HasUnreadable reports whether the last call of [Store.ReadWatched] found anything unreadable.
func (s *Store) HasUnreadable() bool { return s.hasUnreadable.Load() }

// itemsReadMax is the number of planned items that are checked: those that are due next.
const itemsReadMax = 1000
