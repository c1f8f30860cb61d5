package agenda

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// checkMoments returns an error if moments cannot be planned in a pool. The pool's row is
// locked.
func (p *Planner) checkMoments(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, items []draw.Item) error {
	switch hasMoment := slices.ContainsFunc(items, isMoment); {
	case !hasMoment:
		return nil
	case p.ledger.Engine.Lacks(engine.PartMoments):
		return draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no place for moments yet: run `drawsvc migrate up`")
	}
	_, err := p.ledger.Guard.MayChange(ctx, tx, of, ledger.PlansMoment)
	return err
}

// HadMoments reports whether the agenda of a pool has ever contained a moment. Errors:
// CodePoolNotFound, and those of the store.
func (p *Planner) HadMoments(ctx context.Context, poolID string) (had bool, err error) {
	if p.ledger.Engine.Lacks(engine.PartMoments) {
		return false, nil
	}
	query := p.ledger.SelectFrom("hidden_items", "version").Where(squirrel.Eq{"pool_id": poolID, "moments": true}).OrderBy("version").Limit(1)
	err = p.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		found, err := ledger.SelectAll(ctx, tx, query, ledger.ScanInt)
		had = len(found) > 0
		return err
	})
	return had, err
}

// hasOpenMoments reports whether a pool has moments that are not done. The pool's row is
// locked.
func (p *Planner) hasOpenMoments(ctx context.Context, tx *sql.Tx, poolID string) (bool, error) {
	open, err := ledger.SelectAll(ctx, tx, p.openItems("item", poolID, draw.ItemMoment).OrderBy("at", "item").Limit(1), ledger.ScanInt)
	return len(open) > 0, err
}

func isMoment(i draw.Item) bool { return i.Kind == draw.ItemMoment }

// pend marks moments as pending: those among the items that became entries. In the pool's
// row, which is locked, it records the first and last version of pending moments.
func (p *Planner) pend(ctx context.Context, tx *sql.Tx, poolID string, ran []ranItem) error {
	done := slices.Clone(ran)
	done = slices.DeleteFunc(done, func(r ranItem) bool { return r.kind != draw.ItemMoment })
	if len(done) == 0 {
		return nil
	}
	for part := range slices.Chunk(done, ledger.RowsMax) {
		numbers := make([]int64, len(part))
		for i := range part {
			numbers[i] = part[i].number
		}
		update := p.ledger.Builder().Update("agenda").Set("taken", 0).Where(squirrel.Eq{"pool_id": poolID, "item": numbers})
		if _, err := update.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	from, err := ledger.SelectAll(ctx, tx, p.ledger.SelectFrom("pools", "moments_from").Where(squirrel.Eq{"id": poolID}), ledger.ScanInt)
	if err != nil {
		return err
	}
	pending, err := ledger.SelectAll(ctx, tx, p.ledger.SelectFrom("agenda", "done").
		Where(squirrel.Eq{"pool_id": poolID, "what": string(draw.ItemMoment), "taken": 0}).Where(squirrel.GtOrEq{"done": max(from[0], 1)}).
		OrderBy("done").Limit(1), ledger.ScanInt)
	if err != nil {
		return err
	}
	set := p.ledger.Builder().Update("pools").Set("moments_from", pending[0]).Set("moments_to", done[len(done)-1].version)
	return ledger.ExecOne(ctx, tx, set.Where(squirrel.Eq{"id": poolID}))
}
