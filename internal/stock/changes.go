package stock

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

func created(p *draw.Pool) ledger.NewChange {
	return ledger.NewChange{What: draw.WhatCreated, Body: struct {
		Name  string     `json:"name"`
		State draw.State `json:"state"`
		Mode  *string    `json:"mode"`
	}{p.Name, p.State, engine.OrNull(p.Mode)}}
}

// newChanges returns the changes that c makes to a pool: one for each member whose value
// differs from the pool's.
func newChanges(p *draw.Pool, c *draw.PoolChange) (all []ledger.NewChange) {
	add := func(what draw.What, body, column any) {
		all = append(all, ledger.NewChange{What: what, Body: map[draw.What]any{what: body}, Set: map[string]any{string(what): column}})
	}
	if c.Name != nil && *c.Name != p.Name {
		add(draw.WhatName, *c.Name, *c.Name)
	}
	if c.Mode != nil && *c.Mode != p.Mode {
		add(draw.WhatMode, engine.OrNull(*c.Mode), engine.Optional(*c.Mode))
	}
	switch {
	case c.State == nil:
	case c.Pause != nil:
		all = append(all, ledger.NewChange{What: draw.WhatState, Body: json.RawMessage(c.Pause.Body()), Set: map[string]any{"state": string(*c.State)}})
	case *c.State != p.State:
		add(draw.WhatState, *c.State, string(*c.State))
	}
	if c.Archived != nil && *c.Archived != p.Archived {
		add(draw.WhatArchived, *c.Archived, *c.Archived)
	}
	return all
}

// ChangePool changes a pool's name, state, mode or whether it is archived, and returns
// the pool. Each member that gets a different value makes a separate change. The next
// draw sees the changes, on every instance. A pool with a beacon is opened in two steps.
// The first request to open it announces a round, which the pool shows. A second request
// with that round opens the pool. Errors: CodeInvalidRequest, CodePoolNotFound,
// CodeRoundNotAnnounced, those of [draw.PoolChange.Admit], and those of the store.
func (s *Store) ChangePool(ctx context.Context, id string, c draw.PoolChange, actor string) (draw.Pool, error) {
	if err := errors.Join(c.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Pool{}, first(err)
	}
	err := s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, id, actor)
		if err != nil {
			return err
		}
		if err := c.Admit(&of.Pool); err != nil {
			return err
		}
		changes, err := s.OpenBy(ctx, tx, of, &c, newChanges(&of.Pool, &c))
		if err != nil {
			return err
		}
		if c.Pause != nil && of.Pool.State == draw.StatePaused {
			if changes, err = s.withoutSamePause(ctx, tx, of, changes); err != nil {
				return err
			}
		}
		if c.State != nil && *c.State == draw.StateClosed && len(changes) > 0 {
			of.Unannounce(changes[0].Set)
		}
		if err := s.changeShown(ctx, tx, id, &c); err != nil {
			return err
		}
		return s.ledger.Record(ctx, tx, of, changes)
	})
	if err != nil {
		return draw.Pool{}, err
	}
	s.logChangeOfPool(id, &c, actor)
	s.options.Changed(id)
	pool, err := s.poolOn(ctx, s.engine.ReadBack, id)
	if err != nil { // any other code would say that nothing happened
		return draw.Pool{}, &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: fmt.Sprintf("pool %q was changed, and could not be read afterwards", id)}
	}
	return pool, nil
}

// withoutSamePause removes a change that only repeats the current pause of a pool, as a
// repeated request does.
func (s *Store) withoutSamePause(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, all []ledger.NewChange) ([]ledger.NewChange, error) {
	last, err := s.ledger.LastChange(ctx, tx, of.Pool.ID, draw.WhatState, of.Head.Version)
	if err != nil {
		return nil, err
	}
	was := draw.Pause{}
	if last != nil {
		was = draw.PauseOf(last.Body)
	}
	return slices.DeleteFunc(all, func(n ledger.NewChange) bool {
		body, isPause := n.Body.(json.RawMessage)
		return isPause && draw.PauseOf(string(body)) == was
	}), nil
}

// ChangePrize changes a prize and returns it. It corrects the name or the value of a
// prize that has no awards, or changes the display texts of any prize. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodePrizeNotFound, CodeAlreadyIssued,
// CodePoolClosed, and those of the store.
func (s *Store) ChangePrize(ctx context.Context, poolID, prizeID string, c draw.PrizeChange, actor string) (prize draw.Prize, err error) {
	if err := errors.Join(c.Check(), draw.CheckActor(actor)); err != nil {
		return prize, first(err)
	}
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if prize, err = s.ledger.Prize(ctx, tx, poolID, prizeID); err != nil {
			return err
		}
		if err := s.changeDisplay(ctx, tx, poolID, &prize, c.Display); err != nil || c.Name == nil && c.Value == nil {
			return err
		}
		return s.correctPrize(ctx, tx, of, &prize, &c)
	})
	if err != nil {
		return draw.Prize{}, err
	}
	if c.Display != nil {
		s.logShown(poolID, prizeID, actor, "display", prize.Display)
	}
	s.options.Changed(poolID)
	return prize, nil
}

// correctPrize corrects the name or the value of a prize, which the pool's log contains.
func (s *Store) correctPrize(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, prize *draw.Prize, c *draw.PrizeChange) error {
	if prize.Issued > 0 {
		if err := of.Pool.CheckNotClosed(); err != nil {
			return err
		}
		return draw.Errorf(draw.CodeAlreadyIssued, "prize %q has issued %d units, with the name and value that it has; the name that is shown can change", prize.ID, prize.Issued)
	}
	revalues := c.Value != nil && !c.Value.Equal(prize.Value) // budgets depend on values
	if revalues {
		if _, err := s.ledger.Guard.MayChange(ctx, tx, of, ledger.CorrectsValue); err != nil {
			return err
		}
	}
	body, was := map[string]any{"prize": prize.ID}, map[string]string{"name": prize.Name, "value": prize.Value.StringFixed(2)}
	if c.Name != nil && *c.Name != prize.Name {
		prize.Name, body["name"] = *c.Name, *c.Name
	}
	if revalues {
		prize.Value, body["value"] = *c.Value, c.Value.StringFixed(2)
	}
	// Only the change is checked: release 0.1.0 stored names that are refused now.
	if err := prize.CheckValue(); err != nil {
		return err
	}
	if len(body) == 1 {
		return nil
	}
	if err := of.Pool.CheckNotClosed(); err != nil {
		return err
	}
	body["was"] = was // the public log needs the prize as it was added
	update := s.ledger.Builder().Update("prizes").
		Set("name", prize.Name).Set("value", prize.Value.StringFixed(2)).Set("changed", of.Head.Version+1).
		Where(squirrel.Eq{"pool_id": of.Pool.ID, "id": prize.ID})
	if err := ledger.ExecOne(ctx, tx, update); err != nil {
		return err
	}
	set := map[string]any{}
	if revalues {
		of.Unannounce(set)
	}
	return s.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatPrize, Body: body, Set: set}})
}

// DeletePool removes a pool that has never issued a unit, with its history.
// Errors: CodePoolNotFound, CodeAlreadyIssued, and those of the store.
func (s *Store) DeletePool(ctx context.Context, id string, revisions []int64, actor string) error {
	if err := draw.CheckActor(actor); err != nil {
		return err
	}
	err := s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, id, actor)
		if err != nil {
			return err
		}
		if err := of.Pool.IsAt(revisions); err != nil {
			return err
		}
		if of.Committed != 0 {
			return draw.Errorf(draw.CodePoolCommitted, "pool %q is committed to its numbers; archive it instead", id)
		}
		ofPool := squirrel.Eq{"pool_id": id}
		awards, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("awards", "version").Where(ofPool).OrderBy("version").Limit(1), ledger.ScanInt)
		if err != nil {
			return err
		}
		if len(awards) > 0 {
			return draw.Errorf(draw.CodeAlreadyIssued, "pool %q has issued units; archive it instead", id)
		}
		for _, table := range []string{"statements", "turns", "redirects", "agenda", "changes", "moves", "prizes"} {
			if _, err := s.ledger.Builder().Delete(table).Where(ofPool).RunWith(tx).ExecContext(ctx); err != nil {
				return err
			}
		}
		if err := cmp.Or(s.ForgetCodes(ctx, tx, id), s.ForgetSteps(ctx, tx, id), s.ForgetHooks(ctx, tx, id), s.forgetShown(ctx, tx, id), s.ForgetHidden(ctx, tx, id)); err != nil {
			return err
		}
		_, err = s.ledger.Builder().Delete("pools").Where(squirrel.Eq{"id": id}).RunWith(tx).ExecContext(ctx)
		return err
	})
	if err != nil {
		return err
	}
	s.options.Log.Info("pool deleted", "pool", id, "actor", actor) // the pool's history, which would have named the actor, is deleted too
	s.options.Changed(id)
	return nil
}
