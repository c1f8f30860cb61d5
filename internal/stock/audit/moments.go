package audit

import (
	"context"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// endMoments compares the rows of moments with the log. A moment that an award took but
// that is still pending would be given twice. A moment that no award took and that is not
// pending would never be given. A closed pool must have no pending moments.
func (f *folding) endMoments(ctx context.Context, r *Auditor, q engine.Querier, poolID string) error {
	if r.ledger.Engine.Lacks(engine.PartMoments) {
		return nil
	}
	taken := map[int64]int64{} // the award's version by item, 0 if no award took the moment
	const none = -1
	query := r.ledger.SelectFrom("agenda", "item", "COALESCE(taken, -1)").Where(squirrel.Eq{"pool_id": poolID, "what": string(draw.ItemMoment)})
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var item, version int64
		err := row.Scan(&item, &version)
		taken[item] = version
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	state, err := r.stateOf(ctx, q, poolID)
	if err != nil {
		return err
	}
	for item, version := range f.fold.Moments() {
		is, known := taken[item]
		if !known {
			is = none
		}
		switch {
		case is == version || version == 0 && state == draw.StateClosed:
		case version == 0:
			f.found.add(fold.RuleMomentMissed, "moment %d is pending by the log, and its row says that version %d took it", item, is)
		default:
			f.found.add(fold.RuleMomentDouble, "version %d took moment %d, and its row says %d", version, item, is)
		}
		delete(taken, item)
	}
	for item, version := range taken {
		if version > 0 {
			f.found.add(fold.RuleMomentDouble, "the row of moment %d says that version %d took it, and the log does not", item, version)
		}
	}
	return nil
}

func (r *Auditor) stateOf(ctx context.Context, q engine.Querier, poolID string) (draw.State, error) {
	found, err := ledger.SelectAll(ctx, q, r.ledger.SelectFrom("pools", "state").Where(squirrel.Eq{"id": poolID}), func(row engine.Scanner) (state draw.State, err error) {
		return state, row.Scan((*string)(&state))
	})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}
