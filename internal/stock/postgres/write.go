package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

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
	codes := codesOf(p)
	readsCodes := tx.readsCodes(codes)
	if readsCodes {
		tx.queueCodes(batch, p, codes)
	}
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
	if err == nil && readsCodes {
		if unread := codes.end(results); unread != nil {
			//double:doubts-unread tx.forgetCodes(ctx) => err = unread
			tx.forgetCodes(ctx)
		}
	} else {
		err = errors.Join(err, results.Close())
	}
	if err != nil {
		return engine.AtCommit(err, classify)
	}
	tx.open = false
	if pools == 0 {
		return engine.ErrConflict
	}
	if tx.preparesCodes && !readsCodes && !codes.isEmpty() {
		tx.prepareCodes(ctx)
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

// When a commit waits for a synchronous standby, it is already on the primary's disk. A
// timeout, a cancelled statement or a restart may end that wait early. Then every session
// can read the commit although no standby has it, and it may still be lost. So such a
// commit must not be treated as acknowledged, or returned to a caller as if it were.

// sqlSettle writes to the server's log in a transaction, if there are synchronous
// standbys. Its commit waits until the standbys have that transaction and all earlier
// commits.
const sqlSettle = `SELECT pg_logical_emit_message(true, 'drawsvc', '') WHERE current_setting('synchronous_standby_names') <> ''`

// confirm returns when the standbys, too, have the draws that were found.
func (tx *attempt) confirm(ctx context.Context) error {
	if !tx.found {
		return nil
	}
	batch := &pgx.Batch{}
	batch.Queue(tx.dialect.Settle)
	if tx.open {
		batch.Queue(`COMMIT`)
	}
	err := confirmed(ctx, tx.conn.Conn(), batch)
	if err == nil {
		tx.open = false
	}
	return err
}

// confirm returns when the standbys, too, have everything that was committed.
func confirm(ctx context.Context, pool *pgxpool.Pool, settle string) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return engine.Classify(err, classify)
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	batch.Queue(settle)
	return confirmed(ctx, conn.Conn(), batch)
}

// confirmed runs statements. The last of them, or the end of the batch, commits.
func confirmed(ctx context.Context, conn *pgx.Conn, batch *pgx.Batch) error {
	forgetWarning(conn.PgConn())
	if err := errors.Join(conn.SendBatch(ctx, batch).Close(), warningOf(conn.PgConn())); err != nil {
		return engine.AtCommit(err, classify)
	}
	return nil
}

// commit commits a change that used database/sql. If the wait for the standbys ended
// early, it returns the same error as a draw.
func commit(conn *sql.Conn, tx *sql.Tx) error {
	var pg *pgconn.PgConn
	err := conn.Raw(func(driver any) error {
		pg = driver.(*stdlib.Conn).Conn().PgConn()
		return nil
	})
	if err != nil {
		return err
	}
	forgetWarning(pg)
	return errors.Join(tx.Commit(), warningOf(pg))
}

// committed reads the response to COMMIT. A warning in it means that the wait for the
// standbys ended early.
func (tx *attempt) committed(results pgx.BatchResults) error {
	conn := tx.conn.Conn().PgConn()
	forgetWarning(conn)
	_, err := results.Exec()
	return errors.Join(err, warningOf(conn))
}

// warned is the key under which a connection keeps its last warning.
const warned = "drawsvc-warning"

func noteWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warned] = errors.New("warning " + notice.Code + ": " + notice.Message)
	}
}

func forgetWarning(conn *pgconn.PgConn) { delete(conn.CustomData(), warned) }

// warningOf returns the warning that the connection received, nil for none.
func warningOf(conn *pgconn.PgConn) error {
	err, _ := conn.CustomData()[warned].(error)
	return err
}
