package stock

import (
	"context"
	"database/sql"
	"time"

	"drawsvc/internal/draw"
)

// UnreadablePart is something stored that this binary cannot read.
type UnreadablePart struct {
	PoolID string
	// Version is the version of the rules in force, 0 for an item; Item is the number
	// of a planned item, 0 for rules.
	Version, Item int64
	// Why is why it could not be read.
	Why error
}

// Watched are the numbers of rules in force and of planned items that an instance
// watches.
type Watched struct {
	// Low are the prizes of open pools with fewer units left than the warning level of
	// the rules, ordered by pool and prize.
	Low []draw.LowPrize
	// Unreadable lists the data that this binary cannot read, of pools that are not
	// closed and of the 1,000 planned items that are due next. Those pools give no new
	// draws here, or will not once the item is due.
	Unreadable []UnreadablePart
	// Overdue is how long the first planned item, except moments, has been due; 0 if none
	// is due.
	Overdue time.Duration
}

// ReadWatched reads the watched numbers from one snapshot. It reads prizes only of the
// pools whose rules name some. Errors: those of the store.
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

// itemsReadMax is how many planned items are checked: those that are due next.
const itemsReadMax = 1000
