package stock

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Rules returns the rules of a pool that the change of a version put in force;
// version 0 is for those that are in force now. They may be unreadable, see
// [draw.Rules.Unreadable]. Errors: CodePoolNotFound,
// CodeNotFound, and those of the store.
func (s *Store) Rules(ctx context.Context, poolID string, version int64) (r draw.Ruling, err error) {
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		if version == 0 {
			found, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("pools", "rules").Where(squirrel.Eq{"id": poolID}), ledger.ScanInt)
			if err != nil {
				return err
			}
			version = found[0]
		}
		if r, err = s.ledger.Ruling(ctx, tx, poolID, version); err == nil && r.Version == 0 {
			return s.ledger.Absent(ctx, tx, draw.Errorf(draw.CodeNotFound, "pool %q has no such rules", poolID))
		}
		return err
	})
	return r, err
}

// RulesInForce returns the rules of the open pools that have some, ordered by
// pool; some may be unreadable. Errors: those of the store.
func (s *Store) RulesInForce(ctx context.Context) (all []draw.Ruling, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		all, err = s.rulesInForce(ctx, tx, draw.StateOpen)
		return err
	})
	return all, err
}

// rulesInForce reads the rules of the pools in some states.
func (s *Store) rulesInForce(ctx context.Context, q engine.Querier, states ...draw.State) ([]draw.Ruling, error) {
	log := engine.Changes()
	query := s.ledger.SelectFrom(log.Table+" AS c JOIN pools AS p ON p.id = c.pool_id AND p.rules = c.version", "c.pool_id", log.Read("c.")).
		Where(squirrel.Eq{"p.state": states}).OrderBy("c.pool_id")
	return ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (draw.Ruling, error) {
		var c draw.Change
		if err := row.Scan(append([]any{&c.PoolID}, log.Fields(&c)...)...); err != nil {
			return draw.Ruling{}, err
		}
		return ledger.RulingOf(&c), nil
	})
}

// SetRules puts rules in force in a pool, nil for none, and returns them. Rules
// that are in force already change nothing. versions, where not nil, are those
// that the rules in force may have, [draw.AnyRules] every one. Errors: CodeInvalidRequest, which names the
// member, CodePoolNotFound, CodePoolClosed, CodePoolOpen for an open pool with a
// beacon, CodeRulesChanged, and those of the store.
func (s *Store) SetRules(ctx context.Context, poolID string, rules *draw.Rules, versions []int64, actor string) (r draw.Ruling, err error) {
	if err := draw.CheckActor(actor); err != nil {
		return r, err
	}
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if r, err = s.ledger.Ruling(ctx, tx, poolID, of.Pool.RulesVersion); err != nil {
			return err
		}
		switch {
		case versions != nil && !slices.Contains(versions, r.Version) && !(r.Rules != nil && slices.Contains(versions, draw.AnyRules)):
			return draw.Errorf(draw.CodeRulesChanged, "the rules of pool %q are of version %d, which the request does not name", poolID, r.Version)
		case rules.Same(r.Rules):
			return nil
		}
		if err := of.Pool.CheckNotClosed(); err != nil {
			return err
		}
		if _, err := s.ledger.Guard.MayChange(ctx, tx, of, ledger.ChangesRules); err != nil {
			return err
		}
		prizes, err := s.ledger.Prizes(ctx, tx, poolID)
		if err != nil {
			return err
		}
		before := r.Rules
		r, err = s.ledger.RecordRules(ctx, tx, of, before, rules, prizes)
		return err
	})
	if err != nil {
		return draw.Ruling{}, err
	}
	s.options.Changed(poolID)
	return r, nil
}

// Standing says where a user stands under the rules of a pool. Errors:
// CodePoolNotFound, CodeUserNotCounted where the rules keep no limit of draws or
// wins, and those of the store.
func (s *Store) Standing(ctx context.Context, poolID, userID string) (st draw.Standing, err error) {
	err = s.inspect(ctx, poolID, userID, func(urn *draw.Urn, facts *draw.Facts) error {
		if !urn.Rules().CountsUsers() {
			return draw.Errorf(draw.CodeUserNotCounted, "the rules of pool %q count no draws and no wins of users", poolID)
		}
		st, err = urn.Standing(userID, facts, s.Now())
		return err
	})
	return st, err
}

// Odds states the chances of a pool's next draw, of a user where userID is not
// empty. Errors: CodePoolNotFound, what would refuse the draw, and those of the
// store.
func (s *Store) Odds(ctx context.Context, poolID, userID string) (o draw.Statement, err error) {
	err = s.inspect(ctx, poolID, userID, func(urn *draw.Urn, facts *draw.Facts) error {
		if userID == "" {
			o = urn.Odds(s.Now())
			return nil
		}
		o, err = urn.OddsOf(userID, facts, s.Now())
		return err
	})
	return o, err
}

// inspect reads a pool, and of a user what its rules count, as one state.
func (s *Store) inspect(ctx context.Context, poolID, userID string, fn func(*draw.Urn, *draw.Facts) error) error {
	return engine.PublicRead(ledger.Repeated(ctx, func() error {
		urn := draw.NewUrn(poolID)
		tx, err := s.Read(ctx, urn, TxOptions{})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := urn.Readable(poolID); err != nil {
			return err
		}
		facts := draw.NewFacts(nil)
		if needs := urn.NeedsOf(userID); userID != "" && len(needs) > 0 {
			if facts, err = tx.Turns(ctx, urn, needs); err != nil {
				return err
			}
		}
		return fn(urn, facts)
	}))
}

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
