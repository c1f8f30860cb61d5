package locker

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
)

// changeRow runs a statement that changes one row and returns a number, either in a row
// or through LAST_INSERT_ID. If the statement changed no row, it fails with
// sql.ErrNoRows.
func changeRow(ctx context.Context, db *sql.DB, byInsertID bool, query string, args ...any) (n int64, err error) {
	if !byInsertID {
		err = db.QueryRowContext(ctx, query, args...).Scan(&n)
		return n, err
	}
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if rows == 0 {
		return 0, sql.ErrNoRows
	}
	return result.LastInsertId()
}

func pingDB(ctx context.Context, db *sql.DB) error {
	return retryStale(ctx, func() error { return db.PingContext(ctx) })
}

// hasServerCode reports whether err is a response of the database with one of the given
// codes. A code is a SQLSTATE of PostgreSQL or a number of MySQL.
func hasServerCode(err error, codes ...string) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains(codes, e.Code)
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(codes, strconv.Itoa(int(e.Number)))
	}
	return false
}

// isClash reports whether another session got the row. The codes mean serialization
// failure, deadlock, lock wait timeout, and a refused NOWAIT.
func isClash(err error) bool {
	return hasServerCode(err, "40001", "40P01", "55P03", "1213", "1205", "1020", "3572")
}

// staleMax is the maximum number of broken connections that the pool may give to one
// query.
const staleMax = 16

// retryStale runs a query that may be repeated. It repeats the query while the pool
// returns connections that were closed without the pool's knowledge. After a restart of
// the server there may be many of them.
func retryStale(ctx context.Context, ask func() error) error {
	for n := 0; ; n++ {
		err := ask()
		if err == nil || n == staleMax || ctx.Err() != nil || !isStale(err) {
			return err
		}
	}
}

// isStale reports whether an error means that a connection had already ended. It returns
// false if a connection could not be opened.
func isStale(err error) bool {
	if _, refused := errors.AsType[*pgconn.ConnectError](err); refused {
		return false
	}
	for _, ended := range []error{
		driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET,
	} {
		if errors.Is(err, ended) {
			return true
		}
	}
	// These codes come in response to the next query of a session that the server has ended.
	return pgconn.SafeToRetry(err) || hasServerCode(err, "57P01", "57P02", "57P05", "25P03", "1053", "1927", "4031")
}

// findStatements returns the statements of a lock in the service's database.
func findStatements[T any](scheme string, o Options, pick func(locksql.Statements) *T) (*T, error) {
	if o.Database == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "lock \"%s:\" needs the service's database", scheme)
	}
	all := o.Database.LockStatements()
	if one := pick(all); one != nil {
		return one, nil
	}
	return nil, draw.Errorf(draw.CodeInvalidRequest, "lock \"%s:\" is not possible on %s", scheme, all.Database)
}
