package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
		found = Appended(found, v)
	}
	return found, rows.Err()
}

// Appended is append for lists that may be as long as a pool has prizes. It doubles
// their capacity: append increases that of long ones by a quarter, and leaves five
// times as much garbage.
func Appended[T any](to []T, v T) []T {
	if len(to) == cap(to) {
		to = slices.Grow(to, len(to)+1)
	}
	return append(to, v)
}

// EachRow scans each row of a query into the same fields, and calls each for it.
func EachRow(ctx context.Context, q Querier, query string, args, fields []any, each func()) (err error) {
	if own, is := q.(*OwnRows); is {
		return own.read(ctx, own.conn, query, args, fields, each)
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}

// ReadRows is [EachRow] by means of the driver, on a connection.
type ReadRows func(ctx context.Context, conn *sql.Conn, query string, args, fields []any, each func()) error

// OwnRows is a transaction or a connection whose rows the driver reads directly.
// Package database/sql takes three times as long for a row of a log.
type OwnRows struct {
	Querier
	conn *sql.Conn
	read ReadRows
}

// ByDriver returns a transaction on a connection, or the connection itself. The driver
// reads its rows directly if the database supports that.
func (e *Engine) ByDriver(conn *sql.Conn, q Querier) Querier {
	if e.ReadRows == nil {
		return q
	}
	return &OwnRows{q, conn, e.ReadRows}
}

// CheckWritable returns nil on a server that can be written to. A row that is missing
// on another server may not have arrived yet, so no refusal may depend on such a
// server.
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

// Optional returns a text to be stored, NULL if it is empty.
func Optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Word is a scan target for a column with few different texts: it reuses the text of
// the previous row, without an allocation. NULL is "".
type Word string

// ScanBytes implements the scanner of pgx.
func (w *Word) ScanBytes(v []byte) error {
	if string(*w) != string(v) {
		*w = Word(v)
	}
	return nil
}

// Scan implements sql.Scanner.
func (w *Word) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*w = ""
	case string:
		*w = Word(v)
	case []byte:
		return w.ScanBytes(v)
	default:
		return fmt.Errorf("stock: %T is not a text", value)
	}
	return nil
}

// Bytes is a place to scan bytes into. They are valid until the next row, which reuses
// their memory without an allocation. NULL gives zero bytes.
type Bytes []byte

// ScanBytes implements the scanner of pgx.
func (b *Bytes) ScanBytes(v []byte) error {
	*b = append((*b)[:0], v...)
	return nil
}

// Scan implements sql.Scanner.
func (b *Bytes) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*b = (*b)[:0]
	case []byte:
		return b.ScanBytes(v)
	default:
		return fmt.Errorf("stock: %T is not bytes", value)
	}
	return nil
}
