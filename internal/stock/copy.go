package stock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/agenda"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// CopyPool creates a paused copy of a pool, completely or not at all. It returns the copy
// and its planned lists, see [draw.PoolCopy.CopyOf]. It copies the prizes with their
// initial stock and later manual moves, the rules from before the agenda changed them,
// and the display texts. With Days it also copies the agenda, see
// [agenda.Planner.CopyIn]. Errors: CodeInvalidRequest, CodePoolNotFound, CodePoolExists,
// CodeRulesUnreadable, and those of the store.
func (s *Store) CopyPool(ctx context.Context, fromID string, c draw.PoolCopy, actor string) (copied draw.Pool, planned []draw.Planned, err error) {
	if err := errors.Join(c.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Pool{}, nil, first(err)
	}
	// In the snapshot, stock, rules and agenda have one state. Draws do not wait for it.
	var copying poolCopying
	err = s.ledger.SnapshotOn(ctx, s.engine.ReadBack, func(tx *sql.Tx) error {
		from, err := s.poolIn(ctx, tx, fromID)
		if err != nil {
			return err
		}
		copying, err = s.readCopy(ctx, tx, &from, &c)
		return err
	})
	if err != nil {
		return draw.Pool{}, nil, err
	}
	// The answer is made before COMMIT: it contains salts that are stored nowhere.
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		if planned, err = s.writeCopy(ctx, tx, &copying, actor); err != nil {
			return err
		}
		copied, err = s.poolIn(ctx, tx, c.ID)
		return err
	})
	if err != nil {
		return draw.Pool{}, nil, err
	}
	s.options.Log.Info("pool copied", "pool", c.ID, "from", fromID, "actor", actor)
	s.options.Changed(c.ID)
	return copied, planned, nil
}

// poolCopying is the data from which a copy is made. Agenda and shift are set only if the
// agenda is copied.
type poolCopying struct {
	to     draw.Pool
	agenda *agenda.Source
	shift  func(time.Time) time.Time
}

// readCopy reads the data from which the copy of a pool is made.
func (s *Store) readCopy(ctx context.Context, tx *sql.Tx, from *draw.Pool, c *draw.PoolCopy) (made poolCopying, err error) {
	version := from.RulesVersion
	if c.Days != nil {
		if made.agenda, err = s.ReadSource(ctx, tx, from.ID); err != nil {
			return made, err
		}
		zone, err := s.zoneOfCopy(ctx, tx, from, c, made.agenda)
		if err != nil {
			return made, err
		}
		made.shift = func(at time.Time) time.Time { return c.Shift(at, zone) }
		if version, err = s.rulesBeforeAgenda(ctx, tx, from); err != nil {
			return made, err
		}
	}
	moved, err := s.readMoved(ctx, tx, from.ID, c.Days != nil)
	if err != nil {
		return made, err
	}
	ruling, err := s.ledger.Ruling(ctx, tx, from.ID, version)
	if err != nil {
		return made, err
	}
	if err := ruling.Rules.Unreadable(); err != nil {
		return made, err
	}
	made.to, err = c.CopyOf(from, ruling.Rules, moved)
	return made, err
}

// zoneOfCopy returns the time zone in which a copy's agenda keeps its time of day. That
// is the zone of the rules in force, or of the first rules in the history or the agenda
// that name one.
func (s *Store) zoneOfCopy(ctx context.Context, tx *sql.Tx, from *draw.Pool, c *draw.PoolCopy, planned *agenda.Source) (*time.Location, error) {
	if c.Zone != nil {
		return c.Zone, nil
	}
	rulings, err := s.ledger.Rulings(ctx, tx, from.ID)
	if err != nil {
		return nil, err
	}
	all := make([]*draw.Rules, 1, len(rulings)+1)
	for _, r := range rulings {
		all = append(all, r.Rules)
		if r.Version == from.RulesVersion {
			all[0] = r.Rules
		}
	}
	return draw.ZoneOf(append(all, planned.Rules()...)...), all[0].Unreadable()
}

// writeCopy writes the copy of a pool.
func (s *Store) writeCopy(ctx context.Context, tx *sql.Tx, c *poolCopying, actor string) ([]draw.Planned, error) {
	to := c.to
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
	if c.agenda == nil {
		return nil, nil
	}
	return s.CopyIn(ctx, tx, c.agenda, of, c.shift)
}

// rulesBeforeAgenda returns the version of the rules that were in force before the agenda
// first changed them. If it never did, that is the version of the rules in force.
func (s *Store) rulesBeforeAgenda(ctx context.Context, tx *sql.Tx, p *draw.Pool) (int64, error) {
	// The join leaves out failed items, which are done by a change of the agenda.
	query := s.ledger.SelectFrom("agenda AS a JOIN changes AS c ON c.pool_id = a.pool_id AND c.version = a.done", "a.done").
		Where(squirrel.Eq{"a.pool_id": p.ID, "a.what": string(draw.ItemRules), "c.what": string(draw.WhatRules)}).
		Where(squirrel.Gt{"a.done": 0}).OrderBy("a.done").Limit(1)
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

const (
	// hasReturned is the condition for moves that returned units: moves that steps name.
	// Several steps may name the same move.
	hasReturned = `version IN (SELECT returned FROM steps WHERE pool_id = ? AND returned IS NOT NULL)`
	// isOfAgenda is the condition for moves of done items of the agenda.
	isOfAgenda = `version IN (SELECT done FROM agenda WHERE pool_id = ? AND done > 0)`
)

// readMoved returns how many units have returned to the stock of each prize; their awards
// still count as issued. If ofAgenda is set, the result includes the units that done
// items of the agenda have added.
func (s *Store) readMoved(ctx context.Context, tx *sql.Tx, poolID string, ofAgenda bool) (map[string]int64, error) {
	which := squirrel.Or{}
	if !s.engine.Lacks(engine.PartSteps) {
		which = append(which, squirrel.Expr(hasReturned, poolID))
	}
	if ofAgenda {
		which = append(which, squirrel.Expr(isOfAgenda, poolID))
	}
	moved := map[string]int64{}
	if len(which) == 0 {
		return moved, nil
	}
	query := s.ledger.SelectFrom("moves", "prize_id", "SUM(delta)").Where(squirrel.Eq{"pool_id": poolID}).Where(which).GroupBy("prize_id")
	_, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (_ struct{}, err error) {
		var prize string
		var sum int64
		err = row.Scan(&prize, &sum)
		moved[prize] = sum
		return struct{}{}, err
	})
	return moved, err
}
