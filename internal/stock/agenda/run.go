package agenda

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// agendaRun carries out items of an agenda in order, in a pool whose row is locked.
// Successive entries of one kind and actor are written together, but each entry has its
// own version.
type agendaRun struct {
	planner *Planner
	tx      *sql.Tx
	of      *ledger.LockedPool
	// failsAll makes every item fail, without trying it.
	failsAll bool
	// prizes are the pool's prizes after the moves so far. It is nil before they are
	// read.
	prizes []draw.Prize
	// changes and moves are not written yet. At least one of the two is empty.
	changes []ledger.NewChange
	moves   []ledger.Stocking
	ran     []ranItem
}

// The kinds with which due is called for items that were not carried out; see New.
const (
	// ItemFailed counts items that could not be carried out.
	ItemFailed draw.ItemKind = "failed"
	// ItemLapsed counts items whose pool was closed before they were due: their plan no
	// longer matters.
	ItemLapsed draw.ItemKind = "lapsed"
)

// ranItem is an item that became the entry of a version.
type ranItem struct {
	number, version int64
	kind            draw.ItemKind
	failed          error
}

// errGiven is the error of an item that was not even tried.
var errGiven = draw.Errorf(draw.CodeInternal, "the item could not be done; the service's log says why")

// do carries out one item.
func (r *agendaRun) do(ctx context.Context, item *draw.Item) error {
	if item.Actor != r.of.Actor {
		if err := r.flush(ctx); err != nil {
			return err
		}
		r.of.Actor = item.Actor
	}
	refused, err := r.try(ctx, item)
	if err != nil {
		return err
	}
	ran := ranItem{number: item.Number, kind: item.Kind}
	if refused != nil {
		failed, ok := errors.AsType[*draw.Error](refused)
		if !ok || failed.Code == draw.CodeInternal && !r.failsAll {
			return refused
		}
		ran.kind, ran.failed = ItemFailed, failed
		if failed.Code == draw.CodePoolClosed {
			ran.kind = ItemLapsed
		}
		body := draw.ItemDone{Item: item.Number, Failed: failed.Code, Detail: failed.Detail}
		if err := r.change(ctx, ledger.NewChange{What: draw.WhatAgenda, Body: body}); err != nil {
			return err
		}
	}
	ran.version = r.of.Head.Version + int64(len(r.changes)+len(r.moves))
	r.ran = append(r.ran, ran)
	return nil
}

// try carries out the plan of an item. refused is the reason why only this item fails.
// err is an error of reads or writes. It may belong to items before this one, so it ends
// the run, whatever its code is.
func (r *agendaRun) try(ctx context.Context, item *draw.Item) (refused, err error) {
	if err := item.Unreadable(); err != nil {
		return err, nil
	}
	if r.failsAll {
		return errGiven, nil
	}
	switch item.Kind {
	case draw.ItemState:
		return r.state(ctx, item)
	case draw.ItemStock, draw.ItemMoment:
		return r.stock(ctx, item)
	case draw.ItemRules:
		return r.rules(ctx, item)
	}
	return nil, draw.Errorf(draw.CodeInternal, "item %d of the agenda is of the unknown kind %q", item.Number, item.Kind)
}

// refusal returns err as a refusal if the state of the pool forbids the item, or if this
// instance cannot read the pool. Otherwise it returns err as the error of a read.
func refusal(err error) (refused, failed error) {
	forbidden := []draw.Code{draw.CodePoolOpen, draw.CodePoolClosed, draw.CodeRoundNotAnnounced, draw.CodeRulesUnreadable}
	if slices.Contains(forbidden, draw.CodeOf(err)) {
		return err, nil
	}
	return nil, err
}

// guarded returns the reason why a part of the pool may not be changed.
func (r *agendaRun) guarded(ctx context.Context, what ledger.Guarded) (refused, failed error) {
	_, err := r.planner.ledger.Guard.MayChange(ctx, r.tx, r.of, what)
	return refusal(err)
}

// change adds a change after those that are pending.
func (r *agendaRun) change(ctx context.Context, c ledger.NewChange) error {
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
	if err := wanted.Admit(&r.of.Pool); err != nil {
		return err, nil
	}
	if item.State == draw.StateOpen {
		if refused, err := r.guarded(ctx, ledger.OpensByItem); refused != nil || err != nil {
			return refused, err
		}
	}
	set := map[string]any{"state": string(item.State)}
	if item.State == draw.StateClosed {
		r.of.Unannounce(set)
	}
	// The pending moves are written first, in the state for which they were planned: a
	// closed pool accepts no moves.
	err = r.change(ctx, ledger.NewChange{What: draw.WhatState, Body: json.RawMessage(item.Body()), Set: set})
	r.of.Pool.State = item.State
	return nil, err
}

func (r *agendaRun) rules(ctx context.Context, item *draw.Item) (refused, err error) {
	if err := r.of.Pool.CheckNotClosed(); err != nil {
		return err, nil
	}
	if refused, err := r.guarded(ctx, ledger.ChangesRules); refused != nil || err != nil {
		return refused, err
	}
	if err := r.readPrizes(ctx); err != nil {
		return nil, err
	}
	if item.Rules != nil {
		if err := cmp.Or(item.Rules.Check(r.prizes), ledger.CheckClaims(r.of, item.Rules)); err != nil {
			return err, nil
		}
	}
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	before, err := r.planner.ledger.Ruling(ctx, r.tx, r.of.Pool.ID, r.of.Pool.RulesVersion)
	if err != nil {
		return nil, err
	}
	after, err := r.planner.ledger.RecordRules(ctx, r.tx, r.of, before.Rules, item.Rules, r.prizes)
	if err != nil {
		return nil, err
	}
	r.of.Pool.RulesVersion = 0
	if after.Rules != nil {
		r.of.Pool.RulesVersion = after.Version
	}
	return nil, nil
}

func (r *agendaRun) stock(ctx context.Context, item *draw.Item) (refused, err error) {
	if refused, err := refusal(r.planner.ledger.CheckStock(ctx, r.tx, r.of)); refused != nil || err != nil {
		return refused, err
	}
	if err := r.readPrizes(ctx); err != nil {
		return nil, err
	}
	prize := r.prize(item.Stock.PrizeID)
	if prize == nil {
		return draw.Errorf(draw.CodePrizeNotFound, "pool %q has no prize %q", r.of.Pool.ID, item.Stock.PrizeID), nil
	}
	if err := item.Stock.Admit(prize); err != nil {
		return err, nil
	}
	if err := ledger.CheckDelta(*prize, item.Stock.Delta); err != nil {
		return err, nil
	}
	if len(r.changes) > 0 {
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
	}
	r.moves = append(r.moves, ledger.Stocking{Prize: *prize, Delta: item.Stock.Delta, Reason: item.Stock.Reason, Key: item.MoveKey()})
	prize.Stocked += item.Stock.Delta
	return nil, nil
}

func (r *agendaRun) readPrizes(ctx context.Context) (err error) {
	if r.prizes == nil {
		r.prizes, err = r.planner.ledger.Prizes(ctx, r.tx, r.of.Pool.ID)
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

// flush writes the pending entries.
func (r *agendaRun) flush(ctx context.Context) error {
	err := r.planner.ledger.Record(ctx, r.tx, r.of, r.changes)
	if err == nil {
		err = r.planner.ledger.StockAll(ctx, r.tx, r.of, r.moves)
	}
	r.changes, r.moves = nil, nil
	return err
}

// end writes the pending entries, and marks the items done.
func (r *agendaRun) end(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	if err := r.planner.markDone(ctx, r.tx, r.of.Pool.ID, r.ran); err != nil {
		return err
	}
	return r.planner.pend(ctx, r.tx, r.of.Pool.ID, r.ran)
}

// markDone records the version that each item became.
func (p *Planner) markDone(ctx context.Context, tx *sql.Tx, poolID string, ran []ranItem) error {
	for part := range slices.Chunk(ran, ledger.RowsMax) {
		var cases strings.Builder
		numbers := make([]int64, len(part))
		for i, r := range part { // not parameters, which PostgreSQL would take for texts; the numbers are the service's own
			numbers[i] = r.number
			cases.WriteString(" WHEN " + strconv.FormatInt(r.number, 10) + " THEN " + strconv.FormatInt(r.version, 10))
		}
		update := p.ledger.Builder().Update("agenda").Set("done", squirrel.Expr("CASE item"+cases.String()+" END")).
			Where(squirrel.Eq{"pool_id": poolID, "item": numbers, "done": 0})
		result, err := update.RunWith(tx).ExecContext(ctx)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != int64(len(part)) {
			return errors.Join(engine.ErrConflict, err)
		}
	}
	return nil
}
