package stock

import (
	"context"
	"database/sql"

	"drawsvc/internal/draw"
)

// UnreadablePart is something stored that this binary cannot read.
type UnreadablePart struct {
	PoolID string
	// Version is that of the rules in force, 0 for an item; Item is the number of a
	// planned item, 0 for rules.
	Version, Item int64
	// Why says what could not be read.
	Why error
}

// Unreadable returns the rules in force of pools that are not closed, and of the 1,000
// planned items that are due next those, that this binary cannot read: there it gives no new draw, or will
// not once the item is due. Errors: those of the store.
func (s *Store) Unreadable(ctx context.Context) (all []UnreadablePart, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		all = nil
		rulings, err := s.rulesInForce(ctx, tx, draw.StateOpen, draw.StatePaused)
		if err != nil {
			return err
		}
		for _, r := range rulings {
			if why := r.Rules.Unreadable(); why != nil {
				all = append(all, UnreadablePart{PoolID: r.PoolID, Version: r.Version, Why: why})
			}
		}
		return s.NextItems(ctx, tx, itemsReadMax, func(poolID string, item *draw.Item) {
			if why := item.Unreadable(); why != nil {
				all = append(all, UnreadablePart{PoolID: poolID, Item: item.Number, Why: why})
			}
		})
	})
	if err == nil {
		s.hasUnreadable.Store(len(all) > 0)
	}
	return all, err
}

// HasUnreadable reports whether the last call of [Store.Unreadable] found anything.
func (s *Store) HasUnreadable() bool { return s.hasUnreadable.Load() }

// itemsReadMax is how many planned items are checked: those that are due next.
const itemsReadMax = 1000
