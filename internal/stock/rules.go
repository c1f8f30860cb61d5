package stock

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/stock/engine"
)

// Rules returns the rules of a pool that the change of a version put in force;
// version 0 is for those that are in force now. They may be unreadable, see
// [draw.Rules.Unreadable]. Errors: CodePoolNotFound,
// CodeNotFound, and those of the store.
func (s *Store) Rules(ctx context.Context, poolID string, version int64) (r draw.Ruling, err error) {
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		if version == 0 {
			found, err := selectAll(ctx, tx, s.selectFrom("pools", "rules").Where(squirrel.Eq{"id": poolID}), scanInt)
			if err != nil {
				return err
			}
			version = found[0]
		}
		if r, err = s.ruling(ctx, tx, poolID, version); err == nil && r.Version == 0 {
			return s.absent(ctx, tx, draw.Errorf(draw.CodeNotFound, "pool %q has no such rules", poolID))
		}
		return err
	})
	return r, err
}

// ruling reads the change of rules at a version; it has version 0 where there
// is none.
func (s *Store) ruling(ctx context.Context, q engine.Querier, poolID string, version int64) (draw.Ruling, error) {
	r := draw.Ruling{PoolID: poolID}
	if version == 0 {
		return r, nil
	}
	c, err := s.changeAt(ctx, q, poolID, version)
	if err != nil || c == nil || c.What != draw.WhatRules {
		return r, err
	}
	return rulingOf(c), nil
}

// RulesInForce returns the rules of the open pools that have some, ordered by
// pool; some may be unreadable. Errors: those of the store.
func (s *Store) RulesInForce(ctx context.Context) (all []draw.Ruling, err error) {
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		all, err = s.rulesInForce(ctx, tx, draw.StateOpen)
		return err
	})
	return all, err
}

// rulesInForce reads the rules of the pools in some states.
func (s *Store) rulesInForce(ctx context.Context, q engine.Querier, states ...draw.State) ([]draw.Ruling, error) {
	query := s.selectFrom(s.changes.Table+" AS c JOIN pools AS p ON p.id = c.pool_id AND p.rules = c.version", "c.pool_id", s.changes.Read("c.")).
		Where(squirrel.Eq{"p.state": states}).OrderBy("c.pool_id")
	return selectAll(ctx, q, query, func(row engine.Scanner) (draw.Ruling, error) {
		var c draw.Change
		if err := row.Scan(append([]any{&c.PoolID}, s.changes.Fields(&c)...)...); err != nil {
			return draw.Ruling{}, err
		}
		return rulingOf(&c), nil
	})
}

// rulings reads all rules that a pool has had, in order of their versions.
func (s *Store) rulings(ctx context.Context, q engine.Querier, poolID string) ([]draw.Ruling, error) {
	changes, err := s.changesOf(ctx, q, poolID, draw.WhatRules)
	if err != nil {
		return nil, err
	}
	all := make([]draw.Ruling, len(changes))
	for i := range changes {
		all[i] = rulingOf(&changes[i])
	}
	return all, nil
}

func rulingOf(c *draw.Change) draw.Ruling {
	rules, _ := draw.ReadRulesOf(c)
	if rules != nil {
		rules.Version = c.Version
	}
	return draw.Ruling{PoolID: c.PoolID, Version: c.Version, Rules: rules, Actor: c.Actor, At: c.At}
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
	err = s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if r, err = s.ruling(ctx, tx, poolID, of.pool.RulesVersion); err != nil {
			return err
		}
		switch {
		case versions != nil && !slices.Contains(versions, r.Version) && !(r.Rules != nil && slices.Contains(versions, draw.AnyRules)):
			return draw.Errorf(draw.CodeRulesChanged, "the rules of pool %q are of version %d, which the request does not name", poolID, r.Version)
		case rules.Same(r.Rules):
			return nil
		}
		if err := of.pool.CheckNotClosed(); err != nil {
			return err
		}
		if err := s.checkBlind(ctx, tx, of, "its rules are changed"); err != nil {
			return err
		}
		prizes, err := s.prizes(ctx, tx, poolID)
		if err != nil {
			return err
		}
		before := r.Rules
		r, err = s.recordRules(ctx, tx, of, before, rules, prizes)
		return err
	})
	if err != nil {
		return draw.Ruling{}, err
	}
	s.options.Changed(poolID)
	return r, nil
}

// recordRules makes the change that puts rules in force behind others.
func (s *Store) recordRules(ctx context.Context, tx *sql.Tx, of *lockedPool, before, rules *draw.Rules, prizes []draw.Prize) (draw.Ruling, error) {
	version := of.head.Version + 1
	set := map[string]any{"rules": int64(0)}
	of.unannounce(set)
	if rules != nil {
		if err := rules.Check(prizes); err != nil {
			return draw.Ruling{}, err
		}
		set["rules"] = version
		if b := rules.Budget; b != nil && !rules.SameWindow(before) {
			from := b.Per.Start(of.at, rules.Zone)
			spent, err := s.spentSince(ctx, tx, of.pool.ID, from)
			if err != nil {
				return draw.Ruling{}, err
			}
			set["spent"], set["spent_from"] = spent, s.engine.Time(engine.Epoch(from))
		}
	}
	if err := s.record(ctx, tx, of, []newChange{{draw.WhatRules, json.RawMessage(draw.RulesBody(rules)), set}}); err != nil {
		return draw.Ruling{}, err
	}
	if rules != nil {
		own := *rules
		own.Version, rules = version, &own
	}
	return draw.Ruling{PoolID: of.pool.ID, Version: version, Rules: rules, Actor: of.actor, At: of.at}, nil
}

// budgeted are the versions after from up to to, which rules with a budget
// were in force at.
type budgeted struct{ from, to int64 }

// spentSince sums the value, in cents, that was awarded since a time under rules
// with a budget.
func (s *Store) spentSince(ctx context.Context, q engine.Querier, poolID string, start time.Time) (int64, error) {
	rulings, err := s.rulings(ctx, q, poolID)
	if err != nil {
		return 0, err
	}
	var ranges []budgeted
	for _, r := range rulings {
		if n := len(ranges); n > 0 && ranges[n-1].to == math.MaxInt64 {
			ranges[n-1].to = r.Version
		}
		if r.Rules.HasBudget() {
			ranges = append(ranges, budgeted{r.Version, math.MaxInt64})
		}
	}
	var cents int64
	for _, r := range ranges {
		// Counted by prize: SQLite has no exact sum of values.
		query := s.selectFrom("awards AS a JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id", "COUNT(*)", engine.PrizeColumnsOf("p.")).
			Where(squirrel.Eq{"a.pool_id": poolID}).Where(squirrel.Gt{"a.version": r.from}).Where(squirrel.LtOrEq{"a.version": r.to}).
			Where(squirrel.GtOrEq{"a.at": s.engine.Time(engine.Epoch(start))}).
			GroupBy(engine.PrizeColumnsOf("p."))
		_, err := selectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
			var n int64
			var p draw.Prize
			err := row.Scan(&n, &p.ID, &p.Name, &p.Value, &p.Stocked, &p.Issued, &p.Kind)
			cents += n * draw.Cents(p.Value)
			return struct{}{}, err
		})
		if err != nil {
			return 0, err
		}
	}
	return cents, nil
}

// Standing says where a user stands under the rules of a pool. Errors:
// CodePoolNotFound, CodeUserNotCounted where the rules keep no limit of draws or
// wins, and those of the store.
func (s *Store) Standing(ctx context.Context, poolID, userID string) (st draw.Standing, err error) {
	err = s.inspect(ctx, poolID, userID, func(urn *draw.Urn, facts *draw.Facts) error {
		if !urn.Rules().CountsUsers() {
			return draw.Errorf(draw.CodeUserNotCounted, "the rules of pool %q count no draws and no wins of users", poolID)
		}
		st, err = urn.Standing(draw.Player{UserID: userID}, facts, s.Now())
		return err
	})
	return st, err
}

// Odds states the chances of a pool's next draw, of a user where userID is not
// empty. Errors: CodePoolNotFound, what would refuse the draw, and those of the
// store.
func (s *Store) Odds(ctx context.Context, poolID, userID string) (o odds.Statement, err error) {
	err = s.inspect(ctx, poolID, userID, func(urn *draw.Urn, facts *draw.Facts) error {
		if userID == "" {
			o = odds.Of(urn, s.Now())
			return nil
		}
		o, err = odds.OfPlayer(urn, draw.Player{UserID: userID}, facts, s.Now())
		return err
	})
	return o, err
}

// inspect reads a pool, and of a user what its rules count, as one state.
func (s *Store) inspect(ctx context.Context, poolID, userID string, fn func(*draw.Urn, *draw.Facts) error) error {
	return engine.PublicRead(repeated(ctx, func() error {
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
		if needs := urn.NeedsOf(draw.Player{UserID: userID}); userID != "" && len(needs) > 0 {
			if facts, err = tx.Turns(ctx, urn, needs); err != nil {
				return err
			}
		}
		return fn(urn, facts)
	}))
}
