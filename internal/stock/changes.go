package stock

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// lockedPool is a pool whose row is locked, and the entries that are made on
// it: at is their time, actor who makes them. head moves on with them.
type lockedPool struct {
	pool  draw.Pool // as it was before, without prizes
	head  draw.Head
	at    time.Time
	actor string
	// dueAt is the time of the earliest open item of the agenda, zero for none.
	dueAt time.Time
	// committed is the version of the pool's commitment, 0 for none, and promise
	// the commitment, once it was read.
	committed int64
	promise   *proof.Commitment
	// opened is the version of the change that opened the pool with a round, round
	// the one that it is announced to open with; both are 0 for none.
	opened, round int64
}

// newChange is a change to make, and what it sets in the pool's row.
type newChange struct {
	what draw.What
	body any
	set  map[string]any
}

func created(p *draw.Pool) newChange {
	return newChange{what: draw.WhatCreated, body: struct {
		Name  string     `json:"name"`
		State draw.State `json:"state"`
		Mode  *string    `json:"mode"`
	}{p.Name, p.State, engine.OrNull(p.Mode)}}
}

// newChanges are those that c makes of a pool, one for each member that is to
// be another than it is.
func newChanges(p *draw.Pool, c *draw.PoolChange) (all []newChange) {
	add := func(what draw.What, body, column any) {
		all = append(all, newChange{what, map[draw.What]any{what: body}, map[string]any{string(what): column}})
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
		all = append(all, newChange{draw.WhatState, json.RawMessage(c.Pause.Body()), map[string]any{"state": string(*c.State)}})
	case *c.State != p.State:
		add(draw.WhatState, *c.State, string(*c.State))
	}
	if c.Archived != nil && *c.Archived != p.Archived {
		add(draw.WhatArchived, *c.Archived, *c.Archived)
	}
	return all
}

// ChangePool changes a pool's name, state, mode or whether it is archived, and
// returns the pool. Each member that is to be another than it is makes a change
// of its own. The next draw sees it, on every instance. A pool with a beacon is
// opened in two steps: state open announces a round, which the pool shows, and
// state open with that round opens it. Errors: CodeInvalidRequest,
// CodePoolNotFound, CodeRoundNotAnnounced, those of [draw.PoolChange.Admit], and
// those of the store.
func (s *Store) ChangePool(ctx context.Context, id string, c draw.PoolChange, actor string) (draw.Pool, error) {
	if err := errors.Join(c.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Pool{}, first(err)
	}
	err := s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, id, actor)
		if err != nil {
			return err
		}
		if err := c.Admit(&of.pool); err != nil {
			return err
		}
		changes, err := s.openBy(ctx, tx, of, &c, newChanges(&of.pool, &c))
		if err != nil {
			return err
		}
		if c.Pause != nil && of.pool.State == draw.StatePaused {
			if changes, err = s.withoutSamePause(ctx, tx, of, changes); err != nil {
				return err
			}
		}
		if c.State != nil && *c.State == draw.StateClosed && len(changes) > 0 {
			of.unannounce(changes[0].set)
		}
		return s.record(ctx, tx, of, changes)
	})
	if err != nil {
		return draw.Pool{}, err
	}
	s.options.Changed(id)
	pool, err := s.poolOn(ctx, s.engine.ReadBack, id)
	if err != nil { // no other code: they say that nothing happened
		return draw.Pool{}, &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: fmt.Sprintf("pool %q was changed, and could not be read afterwards", id)}
	}
	return pool, nil
}

// withoutSamePause leaves out the change that would pause a pool as it is paused: the
// request is one that comes again.
func (s *Store) withoutSamePause(ctx context.Context, tx *sql.Tx, of *lockedPool, all []newChange) ([]newChange, error) {
	last, err := s.lastChange(ctx, tx, of.pool.ID, draw.WhatState, of.head.Version)
	if err != nil {
		return nil, err
	}
	was := draw.Pause{}
	if last != nil {
		was = draw.PauseOf(last.Body)
	}
	return slices.DeleteFunc(all, func(n newChange) bool {
		body, isPause := n.body.(json.RawMessage)
		return isPause && draw.PauseOf(string(body)) == was
	}), nil
}

// ChangePrize corrects the name or the value of a prize that has issued nothing,
// and returns the prize. Errors: CodeInvalidRequest, CodePoolNotFound,
// CodePrizeNotFound, CodeAlreadyIssued, CodePoolClosed, and those of the store.
func (s *Store) ChangePrize(ctx context.Context, poolID, prizeID string, c draw.PrizeChange, actor string) (prize draw.Prize, err error) {
	if err := errors.Join(c.Check(), draw.CheckActor(actor)); err != nil {
		return prize, first(err)
	}
	err = s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if prize, err = s.prize(ctx, tx, poolID, prizeID); err != nil {
			return err
		}
		if prize.Issued > 0 {
			if err := of.pool.CheckNotClosed(); err != nil {
				return err
			}
			return draw.Errorf(draw.CodeAlreadyIssued, "prize %q has issued %d units, with the name and value that it has", prizeID, prize.Issued)
		}
		revalues := c.Value != nil && !c.Value.Equal(prize.Value) // budgets go by values
		if revalues {
			if err := s.checkBlind(ctx, tx, of, "a value is corrected"); err != nil {
				return err
			}
		}
		body, was := map[string]any{"prize": prizeID}, map[string]string{"name": prize.Name, "value": prize.Value.StringFixed(2)}
		if c.Name != nil && *c.Name != prize.Name {
			prize.Name, body["name"] = *c.Name, *c.Name
		}
		if revalues {
			prize.Value, body["value"] = *c.Value, c.Value.StringFixed(2)
		}
		if err := prize.Check(); err != nil { // its kind has a say too: a blank is worth nothing
			return err
		}
		if len(body) == 1 {
			return nil
		}
		if err := of.pool.CheckNotClosed(); err != nil {
			return err
		}
		body["was"] = was // the public log has the prize as it was added
		update := s.builder().Update("prizes").
			Set("name", prize.Name).Set("value", prize.Value.StringFixed(2)).Set("changed", of.head.Version+1).
			Where(squirrel.Eq{"pool_id": poolID, "id": prizeID})
		if err := execOne(ctx, tx, update); err != nil {
			return err
		}
		set := map[string]any{}
		if revalues {
			of.unannounce(set)
		}
		return s.record(ctx, tx, of, []newChange{{draw.WhatPrize, body, set}})
	})
	if err != nil {
		return draw.Prize{}, err
	}
	s.options.Changed(poolID)
	return prize, nil
}

// DeletePool removes a pool that has never issued a unit, with its history.
// Errors: CodePoolNotFound, CodeAlreadyIssued, and those of the store.
func (s *Store) DeletePool(ctx context.Context, id string, revisions []int64, actor string) error {
	if err := draw.CheckActor(actor); err != nil {
		return err
	}
	err := s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, id, actor)
		if err != nil {
			return err
		}
		if err := of.pool.IsAt(revisions); err != nil {
			return err
		}
		if of.committed != 0 {
			return draw.Errorf(draw.CodePoolCommitted, "pool %q is committed to its numbers; archive it instead", id)
		}
		ofPool := squirrel.Eq{"pool_id": id}
		awards, err := selectAll(ctx, tx, s.selectFrom("awards", "version").Where(ofPool).OrderBy("version").Limit(1), scanInt)
		if err != nil {
			return err
		}
		if len(awards) > 0 {
			return draw.Errorf(draw.CodeAlreadyIssued, "pool %q has issued units; archive it instead", id)
		}
		for _, table := range []string{"statements", "turns", "redirects", "agenda", s.changes.Table, s.moves.Table, "prizes"} {
			if _, err := s.builder().Delete(table).Where(ofPool).RunWith(tx).ExecContext(ctx); err != nil {
				return err
			}
		}
		_, err = s.builder().Delete("pools").Where(squirrel.Eq{"id": id}).RunWith(tx).ExecContext(ctx)
		return err
	})
	if err != nil {
		return err
	}
	s.options.Log.Info("pool deleted", "pool", id, "actor", actor) // its history is deleted with it
	s.options.Changed(id)
	return nil
}

// lockPool is lockRow for changes, which come after what is due of the agenda. They do
// not wait for an item that is left to other instances: it may be what they remove.
func (s *Store) lockPool(ctx context.Context, tx *sql.Tx, id, actor string) (*lockedPool, error) {
	of, err := s.lockRow(ctx, tx, id, actor)
	if err != nil || !of.isDue() {
		return of, err
	}
	first, err := s.dueItems(ctx, tx, id, of.at, 1)
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, &poolDue{id}
	}
	left, err := s.whyLeft(ctx, tx, of, &first[0])
	if err != nil {
		return nil, err
	}
	if left == nil {
		return nil, &poolDue{id}
	}
	return of, nil
}

// lockRow locks the pool's row until the transaction ends. The time of what is
// done to it is the database's, and not before that of the last entry.
func (s *Store) lockRow(ctx context.Context, tx *sql.Tx, id, actor string) (*lockedPool, error) {
	of := &lockedPool{pool: draw.Pool{ID: id}, actor: actor}
	p := &of.pool
	var trail []byte
	var last time.Time
	columns := []string{"name", "state", "COALESCE(mode, '')", "revision", "archived", "rules", "version", "mark", "trail", "at", "due_at", "committed", "opened", "opening_round"}
	to := []any{&p.Name, &p.State, &p.Mode, &p.Revision, &p.Archived, &p.RulesVersion, &of.head.Version, &of.head.Mark, &trail, engine.ScanTime(&last), engine.ScanTime(&of.dueAt), &of.committed, &of.opened, &of.round}
	of.at = s.Now()
	if s.engine.Clock != "" {
		columns, to = append(columns, s.engine.Clock), append(to, &of.at)
	}
	err := s.selectFrom("pools", columns...).Where(squirrel.Eq{"id": id}).Suffix(s.engine.ForUpdate).
		RunWith(tx).QueryRowContext(ctx).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, engine.PoolNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	of.head.Trail = draw.Trail(trail)
	if here := sinceStart(); !s.clock.judge(reading{here, of.at}) {
		of.at = s.clock.last.Load().at(here)
	}
	if of.at = of.at.UTC().Truncate(time.Microsecond); of.at.Before(last) {
		of.at = last
	}
	return of, nil
}

// record makes changes, one after another, and notes them on the pool's row.
func (s *Store) record(ctx context.Context, tx *sql.Tx, of *lockedPool, all []newChange) error {
	if len(all) == 0 {
		return nil
	}
	to := of.head.Next(len(all))
	set := map[string]any{"revision": to.Version} // of several changes of a column, the last one's
	entries := make([]draw.Change, len(all))
	for i, c := range all {
		body, err := json.Marshal(c.body)
		if err != nil {
			return err
		}
		entries[i] = draw.Change{Version: of.head.Version + int64(i) + 1, What: c.what, Body: string(body), Actor: of.actor}
		maps.Copy(set, c.set)
	}
	if err := appendTo(ctx, tx, s.engine.Dialect, s.changes, of.pool.ID, s.engine.Time(of.at), entries); err != nil {
		return err
	}
	update := s.moveHead(of, to).SetMap(set)
	of.head, of.pool.Revision = to, to.Version
	return execOne(ctx, tx, update)
}

// moveHead is an update of a pool's row that moves its head on.
func (s *Store) moveHead(of *lockedPool, to draw.Head) squirrel.UpdateBuilder {
	return s.builder().Update("pools").
		Set("version", to.Version).Set("mark", to.Mark).Set("trail", []byte(to.Trail)).Set("at", s.engine.Time(of.at)).
		Where(squirrel.Eq{"id": of.pool.ID, "version": of.head.Version, "mark": of.head.Mark})
}
