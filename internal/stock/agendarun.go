package stock

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"drawsvc/internal/draw"
)

// agendaRun does items of an agenda one after another, on a pool whose row is
// locked. Entries of one kind and actor that follow each other are written
// together: each makes one version all the same.
type agendaRun struct {
	store *Store
	tx    *sql.Tx
	of    *lockedPool
	// give has every item fail whatever it plans.
	give bool
	// prizes are those of the pool as the moves leave them, nil before they are
	// read.
	prizes []draw.Prize
	// changes and moves wait to be written; only one of them holds any.
	changes []newChange
	moves   []stocking
	ran     []ranItem
}

// errGiven is why an item fails that could not even be tried.
var errGiven = draw.Errorf(draw.CodeInternal, "the item could not be done; the service's log says why")

// do does one item.
func (r *agendaRun) do(ctx context.Context, item *draw.Item) error {
	if item.Actor != r.of.actor {
		if err := r.flush(ctx); err != nil {
			return err
		}
		r.of.actor = item.Actor
	}
	refused, err := r.try(ctx, item)
	if err != nil {
		return err
	}
	ran := ranItem{number: item.Number, kind: item.Kind}
	if refused != nil {
		failed, ok := errors.AsType[*draw.Error](refused)
		if !ok || failed.Code == draw.CodeInternal && !r.give {
			return refused
		}
		ran.kind, ran.failed = ItemFailed, failed
		body := draw.ItemDone{Item: item.Number, Failed: failed.Code, Detail: failed.Detail}
		if err := r.change(ctx, newChange{what: draw.WhatAgenda, body: body}); err != nil {
			return err
		}
	}
	ran.version = r.of.head.Version + int64(len(r.changes)+len(r.moves))
	r.ran = append(r.ran, ran)
	return nil
}

// try does what the item plans. What it plans may be refused, which is the item's
// affair alone. err is that of reads and writes, which may be of the items before it:
// it ends the run, whatever its code.
func (r *agendaRun) try(ctx context.Context, item *draw.Item) (refused, err error) {
	if err := item.Unreadable(); err != nil {
		return err, nil
	}
	if r.give {
		return errGiven, nil
	}
	switch item.Kind {
	case draw.ItemState:
		return r.state(ctx, item)
	case draw.ItemStock:
		return r.stock(ctx, item)
	case draw.ItemRules:
		return r.rules(ctx, item)
	}
	return nil, draw.Errorf(draw.CodeInternal, "item %d of the agenda is of the unknown kind %q", item.Number, item.Kind)
}

// refusal tells what the state of a pool forbids, or what this instance cannot read of
// it, from an error of the read that finds it out.
func refusal(err error) (refused, failed error) {
	forbidden := []draw.Code{draw.CodePoolOpen, draw.CodePoolClosed, draw.CodeRoundNotAnnounced, draw.CodeRulesUnreadable}
	if slices.Contains(forbidden, draw.CodeOf(err)) {
		return err, nil
	}
	return nil, err
}

// change has a change written behind the others.
func (r *agendaRun) change(ctx context.Context, c newChange) error {
	if len(r.moves) > 0 {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.changes = append(r.changes, c)
	return nil
}

func (r *agendaRun) state(ctx context.Context, item *draw.Item) (refused, err error) {
	wanted := draw.PoolChange{State: &item.State}
	if err := wanted.Admit(&r.of.pool); err != nil {
		return err, nil
	}
	if item.State == draw.StateOpen {
		if refused, err := refusal(r.store.checkRoundless(ctx, r.tx, r.of)); refused != nil || err != nil {
			return refused, err
		}
	}
	set := map[string]any{"state": string(item.State)}
	if item.State == draw.StateClosed {
		r.of.unannounce(set)
	}
	// The moves before it are written first, under the state that they were
	// planned for: a closed pool takes none.
	err = r.change(ctx, newChange{draw.WhatState, json.RawMessage(item.Body()), set})
	r.of.pool.State = item.State
	return nil, err
}

func (r *agendaRun) rules(ctx context.Context, item *draw.Item) (refused, err error) {
	if err := r.of.pool.CheckNotClosed(); err != nil {
		return err, nil
	}
	if refused, err := refusal(r.store.checkBlind(ctx, r.tx, r.of, "its rules are changed")); refused != nil || err != nil {
		return refused, err
	}
	if err := r.readPrizes(ctx); err != nil {
		return nil, err
	}
	if item.Rules != nil {
		if err := item.Rules.Check(r.prizes); err != nil {
			return err, nil
		}
	}
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	before, err := r.store.ruling(ctx, r.tx, r.of.pool.ID, r.of.pool.RulesVersion)
	if err != nil {
		return nil, err
	}
	after, err := r.store.recordRules(ctx, r.tx, r.of, before.Rules, item.Rules, r.prizes)
	if err != nil {
		return nil, err
	}
	r.of.pool.RulesVersion = 0
	if after.Rules != nil {
		r.of.pool.RulesVersion = after.Version
	}
	return nil, nil
}

func (r *agendaRun) stock(ctx context.Context, item *draw.Item) (refused, err error) {
	if refused, err := refusal(r.store.checkStock(ctx, r.tx, r.of)); refused != nil || err != nil {
		return refused, err
	}
	if err := r.readPrizes(ctx); err != nil {
		return nil, err
	}
	prize := r.prize(item.Stock.PrizeID)
	if prize == nil {
		return draw.Errorf(draw.CodePrizeNotFound, "pool %q has no prize %q", r.of.pool.ID, item.Stock.PrizeID), nil
	}
	if err := item.Stock.Admit(prize); err != nil {
		return err, nil
	}
	if err := checkDelta(*prize, item.Stock.Delta); err != nil {
		return err, nil
	}
	if len(r.changes) > 0 {
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
	}
	r.moves = append(r.moves, stocking{prize: *prize, delta: item.Stock.Delta, reason: item.Stock.Reason, key: item.MoveKey()})
	prize.Stocked += item.Stock.Delta
	return nil, nil
}

func (r *agendaRun) readPrizes(ctx context.Context) (err error) {
	if r.prizes == nil {
		r.prizes, err = r.store.prizes(ctx, r.tx, r.of.pool.ID)
	}
	return err
}

func (r *agendaRun) prize(id string) *draw.Prize {
	for i := range r.prizes {
		if r.prizes[i].ID == id {
			return &r.prizes[i]
		}
	}
	return nil
}

// flush writes what waits.
func (r *agendaRun) flush(ctx context.Context) error {
	err := r.store.record(ctx, r.tx, r.of, r.changes)
	if err == nil {
		err = r.store.stockAll(ctx, r.tx, r.of, r.moves)
	}
	r.changes, r.moves = nil, nil
	return err
}

// end writes what waits, and marks the items done.
func (r *agendaRun) end(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.store.markDone(ctx, r.tx, r.of.pool.ID, r.ran)
}
