package stock

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Rules returns the rules that the change at a version put in force in a pool; version 0
// means the current rules. They may be unreadable, see [draw.Rules.Unreadable]. Errors:
// CodePoolNotFound, CodeNotFound, and those of the store.
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

// RulesInForce returns the rules of the open pools that have rules, ordered by pool;
// some may be unreadable. Errors: those of the store.
func (s *Store) RulesInForce(ctx context.Context) (all []draw.Ruling, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		open, err := s.rulesInForce(ctx, tx, draw.StateOpen)
		all = make([]draw.Ruling, len(open))
		for i := range open {
			all[i] = open[i].Ruling
		}
		return err
	})
	return all, err
}

// ruledPool is a pool's ruling in force, and the pool's state.
type ruledPool struct {
	draw.Ruling
	state draw.State
}

// rulesInForce reads the rules in force of the pools that have one of the given states.
func (s *Store) rulesInForce(ctx context.Context, q engine.Querier, states ...draw.State) ([]ruledPool, error) {
	log := engine.Changes()
	query := s.ledger.SelectFrom(log.Table+" AS c JOIN pools AS p ON p.id = c.pool_id AND p.rules = c.version", "p.state", "c.pool_id", log.Read("c.")).
		Where(squirrel.Eq{"p.state": states}).OrderBy("c.pool_id")
	return ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (r ruledPool, err error) {
		var c draw.Change
		err = row.Scan(append([]any{&r.state, &c.PoolID}, log.Fields(&c)...)...)
		r.Ruling = ledger.RulingOf(&c)
		return r, err
	})
}

// SetRules puts rules in force in a pool, nil for none, and returns them. Setting rules
// that are already in force changes nothing. versions, if it is not nil, lists the
// allowed versions of the current rules; [draw.AnyRules] allows all versions. Errors:
// CodeInvalidRequest, which names the member, CodePoolNotFound, CodePoolClosed,
// CodePoolOpen for an open pool with a beacon, CodeRulesChanged, and those of the store.
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

// Standing returns a user's current counts and limits under the rules of a pool.
// Errors: CodePoolNotFound, CodeUserNotCounted if the rules limit neither draws nor
// wins, and those of the store.
func (s *Store) Standing(ctx context.Context, poolID, userID string) (st urn.Standing, err error) {
	err = s.inspect(ctx, poolID, userID, func(urn *urn.Urn, facts *urn.Facts) error {
		if !urn.Rules().CountsUsers() {
			return draw.Errorf(draw.CodeUserNotCounted, "the rules of pool %q count no draws and no wins of users", poolID)
		}
		st, err = urn.Standing(draw.Player{UserID: userID}, facts, s.Now())
		return err
	})
	return st, err
}

// Odds returns the chances of a pool's next draw, for a user if userID is not empty.
// Errors: CodePoolNotFound, those that would refuse the draw, and those of the store.
func (s *Store) Odds(ctx context.Context, poolID, userID string) (o odds.Statement, err error) {
	err = s.inspect(ctx, poolID, userID, func(urn *urn.Urn, facts *urn.Facts) error {
		if userID == "" {
			o = odds.Of(urn, s.Now())
			return nil
		}
		o, err = odds.OfPlayer(urn, draw.Player{UserID: userID}, facts, s.Now())
		return err
	})
	if err != nil {
		return o, err
	}
	o.HasMoments, err = s.HadMoments(ctx, poolID)
	return o, err
}

// inspect reads a pool, and the user's turns that its rules count, as one state.
func (s *Store) inspect(ctx context.Context, poolID, userID string, fn func(*urn.Urn, *urn.Facts) error) error {
	return engine.PublicRead(ledger.Repeated(ctx, func() error {
		u := urn.NewUrn(poolID)
		tx, err := s.Read(ctx, u, TxOptions{})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := u.Readable(poolID); err != nil {
			return err
		}
		facts := urn.NewFacts(nil)
		if needs := u.NeedsOf(draw.Player{UserID: userID}); userID != "" && len(needs) > 0 {
			if facts, err = tx.Turns(ctx, u, needs); err != nil {
				return err
			}
		}
		return fn(u, facts)
	}))
}
