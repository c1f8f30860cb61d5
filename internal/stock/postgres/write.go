package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// Write implements engine.Tx: the second round trip, or the only one.
func (tx *attempt) Write(ctx context.Context, p *urn.Plan) error {
	if len(p.Awards) == 0 {
		return tx.confirm(ctx)
	}
	if fault.Armed(fault.BeforeCommit) {
		return tx.writeInSteps(ctx, p)
	}
	batch := &pgx.Batch{}
	opening := !tx.open
	if opening {
		tx.beginLocked(batch, p.PoolID)
	}
	extra := tx.queueWrite(batch, p)
	batch.Queue(`COMMIT`)
	results := tx.conn.SendBatch(ctx, batch)
	var pools int64
	var err error
	if opening {
		err = tx.begunLocked(results)
	}
	if err == nil {
		pools, err = written(results, extra)
	}
	if err == nil {
		err = tx.committed(results)
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return engine.AtCommit(err, classify)
	}
	tx.open = false
	if pools == 0 {
		return engine.ErrConflict
	}
	return nil
}

// queueWrite adds the guarded write to a pipeline, and then the statements that write
// what the rules count. Those require that the pool is at the head to which the guarded
// write moved it. queueWrite returns their number.
func (tx *attempt) queueWrite(batch *pgx.Batch, p *urn.Plan) (extra int) {
	batch.Queue(fault.Unguarded(tx.words.write), tx.arguments(p)...)
	if p.IsPlain() {
		return 0
	}
	made := []any{p.PoolID, p.To.Version, p.To.Mark}
	if len(p.Turns) > 0 {
		extra++
		batch.Queue(tx.words.turns, slices.Concat(made, []any{p.At}, engine.Turns().Lists(p.Turns))...)
	}
	if redirects := engine.RedirectsOf(p); len(redirects) > 0 {
		extra++
		batch.Queue(tx.words.redirects, slices.Concat(made, engine.Redirects().Lists(redirects))...)
	}
	if len(p.Takes) > 0 {
		extra++
		items, versions := make([]int64, len(p.Takes)), make([]int64, len(p.Takes))
		for i, t := range p.Takes {
			items[i], versions[i] = t.Item, t.Version
		}
		batch.Queue(sqlTake, slices.Concat(made, []any{items, versions})...)
	}
	if p.Spends() {
		extra++
		batch.Queue(sqlSpend, slices.Concat(made, []any{p.Spending.Cents, engine.Epoch(p.Spending.From)})...)
	}
	return extra
}

// written reads the responses to queueWrite, and returns how many pools were written.
func written(results pgx.BatchResults, extra int) (pools int64, err error) {
	var one int64
	err = results.QueryRow().Scan(&pools, &one)
	for ; err == nil && extra > 0; extra-- {
		_, err = results.Exec()
	}
	return pools, err
}

func (tx *attempt) arguments(p *urn.Plan) []any {
	changedIDs, changedBy := make([]string, len(p.Raises)), make([]int64, len(p.Raises))
	for i, c := range p.Raises {
		changedIDs[i], changedBy[i] = c.PrizeID, c.Issued
	}
	f := tx.options.Fence
	return append([]any{
		p.PoolID, p.From.Version, int64(len(p.Awards)), f.Token, f.Lock, changedIDs, changedBy, p.Awards[0].At,
		f.TokenMax(), p.From.Mark, p.To.Mark, []byte(p.To.Trail),
	}, tx.awards.Lists(p.Awards)...)
}
