package stock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// CopyPool creates a paused pool like another one, completely or not at all, and returns it
// with what was planned together, see [draw.PoolCopy.CopyOf]. It copies prizes with the
// stock that they began with and what was added since by hand, the rules that were in force
// before the agenda changed them, what is only shown, and with Days the agenda, see
// [agenda.Planner.CopyIn]. Errors: CodeInvalidRequest, CodePoolNotFound, CodePoolExists,
// CodeRulesUnreadable, and those of the store.
func (s *Store) CopyPool(ctx context.Context, fromID string, c draw.PoolCopy, actor string) (copied draw.Pool, planned []draw.Planned, err error) {
	if err := errors.Join(c.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Pool{}, nil, first(err)
	}
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		// The lock keeps stock, rules and agenda as one state while they are read.
		if _, err := s.ledger.LockRow(ctx, tx, fromID, actor); err != nil {
			return err
		}
		pools, err := s.poolsIn(ctx, tx, func(q squirrel.SelectBuilder) squirrel.SelectBuilder { return q.Where(squirrel.Eq{"id": fromID}) })
		if err != nil {
			return err
		}
		if len(pools) == 0 {
			return engine.PoolNotFound(fromID)
		}
		from := &pools[0]
		var moved map[string]int64
		version := from.RulesVersion
		if c.Days != nil {
			if version, err = s.rulesBeforeAgenda(ctx, tx, from); err != nil {
				return err
			}
			if moved, err = s.movedByAgenda(ctx, tx, fromID); err != nil {
				return err
			}
		}
		ruling, err := s.ledger.Ruling(ctx, tx, fromID, version)
		if err != nil {
			return err
		}
		if err := ruling.Rules.Unreadable(); err != nil {
			return err
		}
		planned, err = s.writeCopy(ctx, tx, from, &c, ruling.Rules, moved, actor)
		return err
	})
	if err != nil {
		return draw.Pool{}, nil, err
	}
	s.options.Log.Info("pool copied", "pool", c.ID, "from", fromID, "actor", actor)
	s.options.Changed(c.ID)
	if copied, err = s.poolOn(ctx, s.engine.ReadBack, c.ID); err != nil {
		return draw.Pool{}, nil, &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: "the pool was copied, and could not be read afterwards"}
	}
	return copied, planned, nil
}

// writeCopy writes the copy of a pool.
func (s *Store) writeCopy(ctx context.Context, tx *sql.Tx, from *draw.Pool, c *draw.PoolCopy, rules *draw.Rules, moved map[string]int64, actor string) ([]draw.Planned, error) {
	to := c.CopyOf(from, rules, moved)
	of, err := s.createIn(ctx, tx, &to, actor)
	if err != nil {
		return nil, err
	}
	for i := range to.Prizes {
		if d := to.Prizes[i].Display; d != nil {
			if err := s.writeDisplay(ctx, tx, to.ID, to.Prizes[i].ID, *d); err != nil {
				return nil, err
			}
		}
	}
	if c.Days == nil {
		return nil, nil
	}
	return s.CopyIn(ctx, tx, from.ID, of, c.ShiftBy(rules))
}

// rulesBeforeAgenda returns the version of the rules that were in force before the first
// item of the agenda changed them, or that of the rules in force.
func (s *Store) rulesBeforeAgenda(ctx context.Context, tx *sql.Tx, p *draw.Pool) (int64, error) {
	query := s.ledger.SelectFrom("agenda", "done").Where(squirrel.Eq{"pool_id": p.ID, "what": string(draw.ItemRules)}).
		Where(squirrel.Gt{"done": 0}).OrderBy("done").Limit(1)
	done, err := ledger.SelectAll(ctx, tx, query, ledger.ScanInt)
	if err != nil || len(done) == 0 {
		return p.RulesVersion, err
	}
	before, err := s.ledger.LastChange(ctx, tx, p.ID, draw.WhatRules, done[0]-1)
	if err != nil || before == nil {
		return 0, err
	}
	return before.Version, nil
}

// movedByAgenda returns what done items of the agenda have added to each prize.
func (s *Store) movedByAgenda(ctx context.Context, tx *sql.Tx, poolID string) (map[string]int64, error) {
	moved := map[string]int64{}
	query := s.ledger.SelectFrom("moves AS m JOIN agenda AS a ON a.pool_id = m.pool_id AND a.done = m.version", "m.prize_id", "SUM(m.delta)").
		Where(squirrel.Eq{"m.pool_id": poolID}).Where(squirrel.Gt{"a.done": 0}).GroupBy("m.prize_id")
	_, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (_ struct{}, err error) {
		var prize string
		var sum int64
		err = row.Scan(&prize, &sum)
		moved[prize] = sum
		return struct{}{}, err
	})
	return moved, err
}
