package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"drawsvc/internal/stock/engine"
)

// A commit that waits for a synchronous standby is already on the primary's disk. If
// the wait is broken off, by a timeout, a cancelled statement or a restart, every
// session can read the commit although no standby has it, and it may still be lost. So
// it must not be treated as acknowledged, nor returned to a caller as if it were.

// sqlSettle writes to the log in a transaction if there are synchronous standbys. Its
// commit waits until the standbys have it and all earlier commits.
const sqlSettle = `SELECT pg_logical_emit_message(true, 'drawsvc', '') WHERE current_setting('synchronous_standby_names') <> ''`

// confirm returns when the standbys have the draws that were found too.
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

// confirm returns when the standbys have all that was committed too.
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

// confirmed runs statements; the last one, or the end of the batch, commits.
func confirmed(ctx context.Context, conn *pgx.Conn, batch *pgx.Batch) error {
	forgetWarning(conn.PgConn())
	if err := errors.Join(conn.SendBatch(ctx, batch).Close(), warningOf(conn.PgConn())); err != nil {
		return engine.AtCommit(err, classify)
	}
	return nil
}

// commit is the commit of a change through database/sql. A broken-off wait for the
// standbys is reported as for draws.
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
// standbys was broken off.
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

// warningOf returns nil if no warning came.
func warningOf(conn *pgconn.PgConn) error {
	err, _ := conn.CustomData()[warned].(error)
	return err
}
