package sqltx

import (
	"context"
	"database/sql"

	"drawsvc/internal/stock/engine"
)

// confirm waits until the draws that were found are as safe as an acknowledged commit:
// the commit that wrote them may not be finished yet.
func (tx *attempt) confirm(ctx context.Context) error {
	if !tx.found || tx.attempts.words.Settle == nil {
		return nil
	}
	err := CommitSettled(ctx, tx.tx.Tx, tx.attempts.words.Settle(), tx.attempts.dialect.ByCode)
	if err == nil {
		tx.tx = nil
	}
	return err
}

// Confirm waits until all data that could be read before is as safe as an acknowledged
// commit. Error: an *Error with its class.
func Confirm(ctx context.Context, db *sql.DB, d *engine.Dialect, w Words) error {
	tx, err := db.BeginTx(ctx, &d.Change)
	if err != nil {
		return engine.Classify(err, d.ByCode)
	}
	return CommitSettled(ctx, tx, w.Settle(), d.ByCode)
}

// CommitSettled executes settle in tx and commits. That commit waits until all data that
// could be read before is as safe as an acknowledged commit. Error: an *Error with its
// class.
func CommitSettled(ctx context.Context, tx *sql.Tx, settle engine.Statement, byCode func(error) *engine.Error) error {
	if _, err := tx.ExecContext(ctx, settle.SQL, settle.Args...); err != nil {
		_ = tx.Rollback() // an error means that the connection is lost, and the changes with it
		return engine.BeforeCommit(err, byCode)
	}
	if err := tx.Commit(); err != nil {
		return engine.AtCommit(err, byCode)
	}
	return nil
}
