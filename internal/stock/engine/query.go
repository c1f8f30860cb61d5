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

// Appended is append for lists that may have an entry for each prize of a pool. It
// doubles their capacity. append increases the capacity of a long list only by a quarter,
// and leaves five times as much garbage.
func Appended[T any](to []T, v T) []T {
	if len(to) == cap(to) {
		to = slices.Grow(to, len(to)+1)
	}
	return append(to, v)
}

// EachRow scans each row of a query into the same fields, and then calls the function
// each.
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

// ReadRows does what [EachRow] does, through the driver of a connection.
type ReadRows func(ctx context.Context, conn *sql.Conn, query string, args, fields []any, each func()) error

// OwnRows is a transaction or a connection whose rows the driver reads directly. Package
// database/sql needs three times as long to read a row of a log.
type OwnRows struct {
	Querier
	conn *sql.Conn
	read ReadRows
}

// ByDriver returns q, which is conn or a transaction on it. If the database supports
// that, the driver reads the rows of the result directly.
func (e *Engine) ByDriver(conn *sql.Conn, q Querier) Querier {
	if e.ReadRows == nil {
		return q
	}
	return &OwnRows{q, conn, e.ReadRows}
}

// CheckWritable returns nil on a server that can be written to. Any other server may not
// have received a row yet, so no refusal may depend on a row that is missing there.
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

// Optional returns s as a value to store, or nil, which is NULL, if s is empty.
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
