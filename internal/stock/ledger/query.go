package ledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/stock/engine"
)

// IsDuplicate reports whether a statement failed because its row exists already.
func (l *Ledger) IsDuplicate(err error) bool {
	return err != nil && engine.ClassOf(engine.Classify(err, l.Engine.ByCode)) == engine.ClassKnownKey
}

// Builder builds statements with the placeholders of the database.
func (l *Ledger) Builder() squirrel.StatementBuilderType {
	return squirrel.StatementBuilder.PlaceholderFormat(l.Engine.Placeholder)
}

// SelectFrom begins a SELECT of some columns of a table.
func (l *Ledger) SelectFrom(table string, columns ...string) squirrel.SelectBuilder {
	return l.Builder().Select(columns...).From(table)
}

// InsertInto begins an INSERT into a table.
func (l *Ledger) InsertInto(table string) squirrel.InsertBuilder { return l.Builder().Insert(table) }

// appendTo appends entries to one of a pool's logs.
func appendTo[T any](ctx context.Context, tx *sql.Tx, d *engine.Dialect, log engine.Log[T], poolID string, at any, entries []T) error {
	s := log.Append(poolID, at, entries)
	text, err := d.Placeholder.ReplacePlaceholders(s.SQL)
	if err == nil {
		_, err = tx.ExecContext(ctx, text, s.Args...)
	}
	return err
}

// SelectAll returns the rows of a query that was built by squirrel.
func SelectAll[T any](ctx context.Context, q engine.Querier, query squirrel.SelectBuilder, scan func(engine.Scanner) (T, error)) ([]T, error) {
	text, args, err := query.ToSql()
	if err != nil {
		return nil, err
	}
	return engine.QueryAll(ctx, q, scan, text, args...)
}

// ExecOne runs an update that must change one row.
func ExecOne(ctx context.Context, tx *sql.Tx, update squirrel.UpdateBuilder) error {
	result, err := update.RunWith(tx).ExecContext(ctx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(engine.ErrConflict, err)
	}
	return nil
}

// ScanInt reads a row with one number.
func ScanInt(row engine.Scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}
