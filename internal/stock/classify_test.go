package stock

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestClassify: every code that is known to matter has its class, before the
// commit and at it.
func TestClassify(t *testing.T) {
	pg := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"} }
	fatal := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "FATAL"} }
	my := func(number uint16) error { return &mysql.MySQLError{Number: number} }
	for _, c := range []struct {
		dialect    *Dialect
		err        error
		want, late Class
	}{
		{postgresDialect(), pg("40001"), ClassConflict, ClassConflict},
		{postgresDialect(), pg("40P01"), ClassConflict, ClassConflict},
		{postgresDialect(), pg("55P03"), ClassConflict, ClassConflict},
		{postgresDialect(), pg("23505"), ClassKnownKey, ClassKnownKey},
		{postgresDialect(), pg("23514"), ClassOther, ClassOther},
		{postgresDialect(), pg("22012"), ClassOther, ClassOther},
		{postgresDialect(), pg("25006"), ClassUnavailable, ClassUnavailable},
		{postgresDialect(), pg("53300"), ClassUnavailable, ClassUnavailable},
		{postgresDialect(), pg("53100"), ClassUnavailable, ClassUnavailable},
		{postgresDialect(), fatal("57P01"), ClassUnavailable, ClassUnknown},
		{postgresDialect(), fatal("57P02"), ClassUnavailable, ClassUnknown},
		{postgresDialect(), fatal("57P03"), ClassUnavailable, ClassUnknown},
		{postgresDialect(), fatal("08006"), ClassUnavailable, ClassUnknown},
		// Seen by "database's clock an hour ahead, then back", seed 58808833228668.
		{postgresDialect(), fatal("25P03"), ClassUnavailable, ClassUnknown},
		{postgresDialect(), fatal("25P04"), ClassUnavailable, ClassUnknown},
		{postgresDialect(), pg("57014"), ClassUnavailable, ClassUnavailable},
		{postgresDialect(), io.ErrUnexpectedEOF, ClassUnavailable, ClassUnknown},
		{mysqlDialect(), my(1213), ClassConflict, ClassConflict},
		{mysqlDialect(), my(1205), ClassConflict, ClassConflict},
		{mysqlDialect(), my(1020), ClassConflict, ClassConflict},
		{mysqlDialect(), my(3101), ClassConflict, ClassConflict},
		{mysqlDialect(), my(3572), ClassConflict, ClassConflict},
		{mysqlDialect(), my(3058), ClassConflict, ClassConflict},
		{mysqlDialect(), my(1062), ClassKnownKey, ClassKnownKey},
		{mysqlDialect(), my(3819), ClassOther, ClassUnknown},
		{mysqlDialect(), my(4025), ClassOther, ClassUnknown},
		{mysqlDialect(), my(1047), ClassUnavailable, ClassUnavailable},
		{mysqlDialect(), my(1290), ClassUnavailable, ClassUnavailable},
		{mysqlDialect(), my(1792), ClassUnavailable, ClassUnavailable},
		{mysqlDialect(), my(1836), ClassUnavailable, ClassUnavailable},
		{mysqlDialect(), my(1040), ClassUnavailable, ClassUnavailable},
		{mysqlDialect(), my(1053), ClassUnavailable, ClassUnknown},
		{mysqlDialect(), my(4031), ClassUnavailable, ClassUnknown},
		{mysqlDialect(), mysql.ErrInvalidConn, ClassUnavailable, ClassUnknown},
		{mysqlDialect(), driver.ErrBadConn, ClassUnavailable, ClassUnavailable},
		{sqliteDialect(), context.DeadlineExceeded, ClassUnavailable, ClassUnknown},
		{sqliteDialect(), &net.OpError{Op: "read", Err: errors.New("reset")}, ClassUnavailable, ClassUnknown},
		{sqliteDialect(), errors.New("a surprise"), ClassOther, ClassUnknown},
	} {
		wrapped := fmt.Errorf("wrapped: %w", c.err)
		require.Equal(t, c.want, ClassOf(classify(wrapped, c.dialect.ByCode)), "%s %v", c.dialect.Name, c.err)
		require.Equal(t, c.late, ClassOf(atCommit(wrapped, c.dialect.ByCode)), "%s %v at commit", c.dialect.Name, c.err)
	}
	require.NoError(t, classify(nil, classifyMySQL))
}

// TestPublic: callers see codes, and never a text of the database.
func TestPublic(t *testing.T) {
	for class, code := range map[Class]draw.Code{
		ClassConflict:    draw.CodeContended,
		ClassUnavailable: draw.CodeStoreUnavailable,
		ClassUnknown:     draw.CodeOutcomeUnknown,
		ClassOther:       draw.CodeInternal,
	} {
		err := public(&Error{Class: class, Reason: "r", Err: errors.New("SELECT secret FROM host")})
		e, ok := errors.AsType[*draw.Error](err)
		require.True(t, ok)
		require.Equal(t, code, e.Code)
		require.NotContains(t, e.Detail, "secret")
	}
	require.NoError(t, public(nil))
	require.NoError(t, public(classify(nil, classifySQLite)))
}
