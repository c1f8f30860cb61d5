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
