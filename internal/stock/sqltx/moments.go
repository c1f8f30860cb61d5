package sqltx

import (
	"context"
	"slices"
	"strings"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

// readMoments reads the pending moments of a pool.
func readMoments(ctx context.Context, q engine.Querier, poolID string, row *engine.Row) error {
	from, to := row.Moments()
	var item, done int64
	var body string
	err := engine.EachRow(ctx, q, engine.SelectMoments, []any{poolID, from, to}, []any{&item, &done, &body}, func() {
		row.AddMoment(item, done, body)
	})
	row.SetReadMoments()
	return err
}

// takeMoments returns the statements that record which awards take pending moments.
func takeMoments(p *urn.Plan) (all []engine.Statement) {
	for part := range slices.Chunk(p.Takes, rowsMax) {
		args := make([]any, 0, 3*len(part)+1)
		for _, t := range part {
			args = append(args, t.Item, t.Version)
		}
		args = append(args, p.PoolID)
		for _, t := range part {
			args = append(args, t.Item)
		}
		all = append(all, engine.Statement{
			SQL: `UPDATE agenda SET taken = CASE item` + strings.Repeat(" WHEN ? THEN ?", len(part)) +
				` END WHERE pool_id = ? AND item IN (` + engine.List("?", len(part)) + `) AND taken = 0`,
			Args: args, Rows: int64(len(part)),
		})
	}
	return all
}
