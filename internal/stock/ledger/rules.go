package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock/engine"
)

// Ruling reads the change of rules at a version; its Version is 0 if there is none.
func (l *Ledger) Ruling(ctx context.Context, q engine.Querier, poolID string, version int64) (draw.Ruling, error) {
	r := draw.Ruling{PoolID: poolID}
	if version == 0 {
		return r, nil
	}
	c, err := l.ChangeAt(ctx, q, poolID, version)
	if err != nil || c == nil || c.What != draw.WhatRules {
		return r, err
	}
	return RulingOf(c), nil
}

// Rulings reads all rules that a pool has had, in order of their versions.
func (l *Ledger) Rulings(ctx context.Context, q engine.Querier, poolID string) ([]draw.Ruling, error) {
	changes, err := l.ChangesOf(ctx, q, poolID, draw.WhatRules)
	if err != nil {
		return nil, err
	}
	all := make([]draw.Ruling, len(changes))
	for i := range changes {
		all[i] = RulingOf(&changes[i])
	}
	return all, nil
}

// RulingOf returns the ruling that a change of rules contains.
func RulingOf(c *draw.Change) draw.Ruling {
	rules, _ := rules.ReadOf(c)
	if rules != nil {
		rules.Version = c.Version
	}
	return draw.Ruling{PoolID: c.PoolID, Version: c.Version, Rules: rules, Actor: c.Actor, At: c.At}
}

// RecordRules records the change that replaces the rules before with the new rules, nil
// to remove them.
func (l *Ledger) RecordRules(ctx context.Context, tx *sql.Tx, of *LockedPool, before, rules *draw.Rules, prizes []draw.Prize) (draw.Ruling, error) {
	version := of.Head.Version + 1
	set := map[string]any{"rules": int64(0)}
	of.Unannounce(set)
	if rules != nil {
		if err := rules.Check(prizes); err != nil {
			return draw.Ruling{}, err
		}
		if err := CheckClaims(of, rules); err != nil {
			return draw.Ruling{}, err
		}
		set["rules"] = version
		if rules.Claims != nil && l.Engine.Lacks(engine.PartSteps) {
			return draw.Ruling{}, draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no place for claims yet: run `drawsvc migrate up`")
		}
		if rules.Claims != nil {
			set["claims_from"] = squirrel.Expr("CASE WHEN claims_from = 0 THEN ? ELSE claims_from END", version)
		}
		if b := rules.Budget; b != nil && !rules.SameWindow(before) {
			from := b.Per.Start(of.At, rules.Zone)
			spent, err := l.SpentSince(ctx, tx, of.Pool.ID, from)
			if err != nil {
				return draw.Ruling{}, err
			}
			set["spent"], set["spent_from"] = spent, l.Engine.Time(engine.Epoch(from))
		}
	}
	if err := l.Record(ctx, tx, of, []NewChange{{draw.WhatRules, json.RawMessage(draw.RulesBody(rules)), set}}); err != nil {
		return draw.Ruling{}, err
	}
	if rules != nil {
		own := *rules
		own.Version, rules = version, &own
	}
	return draw.Ruling{PoolID: of.Pool.ID, Version: version, Rules: rules, Actor: of.Actor, At: of.At}, nil
}

// CheckClaims checks that rules fit a pool's commitment, after the guard has read it.
// Units that return while the pool is open would change what a round promised.
func CheckClaims(of *LockedPool, rules *draw.Rules) error {
	if p := of.Promise; p == nil || p.Beacon == nil || p.StockWhileOpen || rules == nil || rules.Claims == nil || !rules.Claims.Return {
		return nil
	}
	return ErrorClaimsReturn()
}

// ErrorClaimsReturn returns the error for claims.return in a pool with a beacon and
// without stock-while-open.
func ErrorClaimsReturn() error {
	return draw.ErrorOfMember("claims.return", "must be false: the pool has a beacon, and its stock moves only while it is paused")
}

// RulesAt reads the rules that were in force at a version, nil for none.
func (l *Ledger) RulesAt(ctx context.Context, q engine.Querier, poolID string, version int64) (*draw.Rules, error) {
	c, err := l.LastChange(ctx, q, poolID, draw.WhatRules, version)
	if err != nil || c == nil {
		return nil, err
	}
	return RulingOf(c).Rules, nil
}

// budgeted is a range of versions at which rules with a budget were in force. It begins
// after the version from, and ends with the version to.
type budgeted struct{ from, to int64 }

// SpentSince returns the value, in cents, of the awards since a time that were made under
// rules with a budget.
func (l *Ledger) SpentSince(ctx context.Context, q engine.Querier, poolID string, start time.Time) (int64, error) {
	return l.SpentBetween(ctx, q, poolID, start, math.MaxInt64)
}

// SpentBetween is SpentSince for awards up to a version.
func (l *Ledger) SpentBetween(ctx context.Context, q engine.Querier, poolID string, start time.Time, last int64) (int64, error) {
	rulings, err := l.Rulings(ctx, q, poolID)
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
		// The query counts awards by value, because SQLite cannot add up values exactly.
		query := l.SelectFrom("awards AS a JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id", "COUNT(*)", "p.value").
			Where(squirrel.Eq{"a.pool_id": poolID}).Where(squirrel.Gt{"a.version": r.from}).Where(squirrel.LtOrEq{"a.version": min(r.to, last)}).
			Where(squirrel.GtOrEq{"a.at": l.Engine.Time(engine.Epoch(start))}).
			GroupBy("p.value")
		_, err := SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
			var n int64
			var value decimal.Decimal
			err := row.Scan(&n, &value)
			cents += n * draw.Cents(value)
			return struct{}{}, err
		})
		if err != nil {
			return 0, err
		}
	}
	return cents, nil
}

// IsUnreadable reports whether an error means that this instance cannot read stored
// data of a pool.
func IsUnreadable(err error) bool { return draw.CodeOf(err) == draw.CodeRulesUnreadable }
