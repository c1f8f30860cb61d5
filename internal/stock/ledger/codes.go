package ledger

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// ReadPlaces fills in how many codes the prizes of a pool have, where any has codes.
// Imports may add places at the same time. Whoever has locked the pool's row knows that
// none is taken away.
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

// beginCodes makes the heads of new prizes with codes, which begin without any.
func (l *Ledger) beginCodes(ctx context.Context, tx *sql.Tx, poolID string, prizes []string) error {
	if len(prizes) == 0 {
		return nil
	}
	if l.Engine.LacksCodes() {
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

// SelectCodedAwards is [Ledger.SelectAwards] of awards that know whether they have a code,
// and what reads a row.
func (l *Ledger) SelectCodedAwards(poolID string) (squirrel.SelectBuilder, func(engine.Scanner) (draw.Award, error)) {
	query := l.SelectAwards(poolID)
	if l.Engine.LacksCodes() {
		return query, l.ScanAward
	}
	return query.Column(`COALESCE((SELECT codes FROM prizes WHERE pool_id = a.pool_id AND id = a.prize_id), FALSE)`), func(row engine.Scanner) (a draw.Award, err error) {
		err = row.Scan(append(engine.AwardFields(l.awards, &a), &a.HasCode)...)
		return a, err
	}
}
