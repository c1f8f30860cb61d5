package ledger

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// ReadPlaces sets, in the prizes of a pool that have codes, the number of their codes.
// Imports may add places at the same time. If the caller has locked the pool's row, no
// place is removed meanwhile.
func (l *Ledger) ReadPlaces(ctx context.Context, q engine.Querier, poolID string, prizes []draw.Prize) error {
	coded := map[string]*draw.Prize{}
	for i := range prizes {
		if prizes[i].HasCodes {
			coded[prizes[i].ID] = &prizes[i]
		}
	}
	if len(coded) == 0 {
		return nil
	}
	query := l.SelectFrom("code_heads", "prize_id", "places").Where(squirrel.Eq{"pool_id": poolID})
	_, err := SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var id string
		var places int64
		err := row.Scan(&id, &places)
		if p := coded[id]; p != nil {
			p.Places = places
		}
		return struct{}{}, err
	})
	return err
}

// beginCodes writes the first rows for new prizes with codes, which have no codes yet.
func (l *Ledger) beginCodes(ctx context.Context, tx *sql.Tx, poolID string, prizes []string) error {
	if len(prizes) == 0 {
		return nil
	}
	if l.Engine.Lacks(engine.PartCodes) {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no place for codes yet: run `drawsvc migrate up`")
	}
	heads := l.InsertInto("code_heads").Columns("pool_id", "prize_id")
	for _, id := range prizes {
		heads = heads.Values(poolID, id)
	}
	if _, err := heads.RunWith(tx).ExecContext(ctx); err != nil {
		return err
	}
	mark := l.Builder().Update("prizes").Set("codes", true).Where(squirrel.Eq{"pool_id": poolID, "id": prizes})
	_, err := mark.RunWith(tx).ExecContext(ctx)
	return err
}

// SelectCodedAwards is [Ledger.SelectAwards] with three more columns for each award. They
// state whether its prize has codes, whether it may have steps, and whether it needs a
// claim. It also returns the function that reads a row.
func (l *Ledger) SelectCodedAwards(poolID string) (squirrel.SelectBuilder, func(engine.Scanner) (draw.Award, error)) {
	query := l.SelectAwards(poolID)
	if l.Engine.Lacks(engine.PartCodes) {
		return query, l.ScanAward
	}
	asks := `FALSE`
	if !l.Engine.Lacks(engine.PartSteps) { // the rules had claims, or the award has steps
		asks = `EXISTS (SELECT 1 FROM pools WHERE id = a.pool_id AND claims_from BETWEEN 1 AND a.version)
	OR EXISTS (SELECT 1 FROM steps WHERE pool_id = a.pool_id AND award = a.version)`
	}
	const hasCode = `COALESCE((SELECT codes FROM prizes WHERE pool_id = a.pool_id AND id = a.prize_id), FALSE)`
	return query.Columns(hasCode, asks), func(row engine.Scanner) (a draw.Award, err error) {
		err = row.Scan(append(engine.AwardFields(l.awards, &a), &a.HasCode, &a.AsksClaims)...)
		return a, err
	}
}

// SelectCodedAwardsOf is [Ledger.SelectCodedAwards] for the awards of draws, in any order, in
// a transaction that finds rows by key.
func (l *Ledger) SelectCodedAwardsOf(poolID string, drawIDs []string) (squirrel.SelectBuilder, func(engine.Scanner) (draw.Award, error)) {
	query, scan := l.SelectCodedAwards(poolID)
	if l.Engine.NamedAwards == "" {
		return query.Where(squirrel.Eq{"a.draw_id": drawIDs}), scan
	}
	query = query.From("pools AS own").JoinClause(l.Engine.NamedAwards, drawIDs).JoinClause(l.Engine.AwardPrize)
	return query.Where(squirrel.Eq{"own.id": poolID}), scan
}

// LastStep reads the number of the last step of a pool's awards, 0 for none.
func (l *Ledger) LastStep(ctx context.Context, q engine.Querier, poolID string) (int64, error) {
	if l.Engine.Lacks(engine.PartSteps) {
		return 0, nil
	}
	found, err := SelectAll(ctx, q, l.SelectFrom("step_heads", "n").Where(squirrel.Eq{"pool_id": poolID}), ScanInt)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}
