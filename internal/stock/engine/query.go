package engine

import (
	"context"
	"database/sql"
	"errors"
)

// Querier is a transaction or a pool of connections.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// QueryAll collects the rows of a query.
func QueryAll[T any](ctx context.Context, q Querier, scan func(Scanner) (T, error), query string, args ...any) (found []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}

// CheckWritable is nil on a server that can be written. What another lacks may
// only not have come there yet, so a refusal must not rest on it.
func CheckWritable(ctx context.Context, q Querier, d *Dialect) error {
	var writable bool
	if err := q.QueryRowContext(ctx, `SELECT `+d.Writable).Scan(&writable); err != nil {
		return err
	}
	if !writable {
		return ReadOnlyServer()
	}
	return nil
}

// Optional is a text to be stored, NULL when it is empty.
func Optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}
