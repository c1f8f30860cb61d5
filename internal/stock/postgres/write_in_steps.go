package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// writeInSteps is Write, but it commits in a separate round trip, so that tests can
// inject a fault before it. The released program does not contain it.
func (tx *attempt) writeInSteps(ctx context.Context, p *urn.Plan) error {
	if !tx.open {
		begin := &pgx.Batch{}
		tx.beginLocked(begin, p.PoolID)
		if err := tx.conn.SendBatch(ctx, begin).Close(); err != nil {
			return engine.Classify(err, classify)
		}
	}
	batch := &pgx.Batch{}
	extra := tx.queueWrite(batch, p)
	results := tx.conn.SendBatch(ctx, batch)
	pools, err := written(results, extra)
	if err = errors.Join(err, results.Close()); err != nil {
		return engine.Classify(err, classify)
	}
	fault.At(fault.BeforeCommit)
	forgetWarning(tx.conn.Conn().PgConn())
	_, err = tx.conn.Exec(ctx, `COMMIT`)
	if err = errors.Join(err, warningOf(tx.conn.Conn().PgConn())); err != nil {
		return engine.AtCommit(err, classify)
	}
	tx.open = false
	if pools == 0 {
		return engine.ErrConflict
	}
	return nil
}
