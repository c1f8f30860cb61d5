package sqltx

import (
	"context"
	"database/sql"

	"drawsvc/internal/stock/engine"
)

// confirm returns when the draws that were found are as safe as what is
// acknowledged: their own commit may still be under way.
func (tx *attempt) confirm(ctx context.Context) error {
	if !tx.found || tx.attempts.words.Settle == nil {
		return nil
	}
	if err := settle(ctx, tx.tx.Tx, tx.attempts.words); err != nil {
		return engine.AtCommit(err, tx.attempts.dialect.ByCode)
	}
	return tx.commit()
}

// Confirm returns when all that could be read before is as safe as what is
// acknowledged. Error: an *Error with its class.
func Confirm(ctx context.Context, db *sql.DB, d *engine.Dialect, w Words) error {
	tx, err := db.BeginTx(ctx, &d.Change)
	if err != nil {
		return engine.Classify(err, d.ByCode)
	}
	if err := settle(ctx, tx, w); err != nil {
		_ = tx.Rollback() // an error means that the connection is lost
		return engine.AtCommit(err, d.ByCode)
	}
	if err := tx.Commit(); err != nil {
		return engine.AtCommit(err, d.ByCode)
	}
	return nil
}

func settle(ctx context.Context, tx *sql.Tx, w Words) error {
	s := w.Settle()
	_, err := tx.ExecContext(ctx, s.SQL, s.Args...)
	return err
}
