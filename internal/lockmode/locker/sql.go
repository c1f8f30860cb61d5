package locker

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// numbered turns the places ? into $1, $2, …
func numbered(query string) string {
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// returning runs a statement that answers with one number, or with
// sql.ErrNoRows when it changed nothing.
func returning(ctx context.Context, db *sql.DB, query string, args ...any) (n int64, err error) {
	err = db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// lastInsertID does the same on MySQL, where a statement that changes rows
// answers through LAST_INSERT_ID.
func lastInsertID(ctx context.Context, db *sql.DB, query string, args ...any) (int64, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, sql.ErrNoRows
	}
	return result.LastInsertId()
}

// serverSays reports whether err is the database's answer with one of the
// given codes: a SQLSTATE of PostgreSQL or a number of MySQL.
func serverSays(err error, codes ...string) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains(codes, e.Code)
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(codes, strconv.Itoa(int(e.Number)))
	}
	return false
}

// clashed says that the database gave the row to another: serialization,
// deadlock, lock wait or NOWAIT refused.
func clashed(err error) bool {
	return serverSays(err, "40001", "40P01", "55P03", "1213", "1205", "1020", "3572")
}
