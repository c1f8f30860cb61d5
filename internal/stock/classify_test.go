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
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// TestClassify: every known code that matters has its class, before the commit and at the
// commit.
func TestClassify(t *testing.T) {
	pg := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"} }
	fatal := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "FATAL"} }
	file := func(message string) error {
		return &pgconn.PgError{Code: "42501", SeverityUnlocalized: "ERROR", File: "md.c", Message: message}
	}
	my := func(number uint16) error { return &mysql.MySQLError{Number: number} }
	for _, c := range []struct {
		dialect    string
		err        error
		want, late Class
	}{
		{"postgres", pg("40001"), ClassConflict, ClassConflict},
		{"postgres", pg("40P01"), ClassConflict, ClassConflict},
		{"postgres", pg("55P03"), ClassConflict, ClassConflict},
		{"postgres", pg("23505"), ClassKnownKey, ClassKnownKey},
		{"postgres", pg("23514"), ClassOther, ClassOther},
		{"postgres", pg("22012"), ClassOther, ClassOther},
		{"postgres", pg("25006"), ClassUnavailable, ClassUnavailable},
		{"postgres", pg("42501"), ClassOther, ClassOther},
		{"postgres", file("could not create file \"pg_tblspc/1/2/3_fsm\": Read-only file system"), ClassUnavailable, ClassUnavailable},
		{"postgres", file("konnte Datei »base/1/2« nicht erweitern: Das Dateisystem ist nur lesbar"), ClassUnavailable, ClassUnavailable},
		{"postgres", pg("53300"), ClassUnavailable, ClassUnavailable},
		{"postgres", pg("53100"), ClassUnavailable, ClassUnavailable},
		{"postgres", fatal("57P01"), ClassUnavailable, ClassUnknown},
		{"postgres", fatal("57P02"), ClassUnavailable, ClassUnknown},
		{"postgres", fatal("57P03"), ClassUnavailable, ClassUnknown},
		{"postgres", fatal("08006"), ClassUnavailable, ClassUnknown},
		// Found by "database's clock an hour ahead, then back", seed 58808833228668.
		{"postgres", fatal("25P03"), ClassUnavailable, ClassUnknown},
		{"postgres", fatal("25P04"), ClassUnavailable, ClassUnknown},
		{"postgres", pg("57014"), ClassUnavailable, ClassUnavailable},
		{"postgres", io.ErrUnexpectedEOF, ClassUnavailable, ClassUnknown},
		{"mysql", my(1213), ClassConflict, ClassConflict},
		{"mysql", my(1205), ClassConflict, ClassConflict},
		{"mysql", my(1020), ClassConflict, ClassConflict},
		{"mysql", my(3101), ClassConflict, ClassConflict},
		{"mysql", my(3572), ClassConflict, ClassConflict},
		{"mysql", my(3058), ClassConflict, ClassConflict},
		{"mysql", my(1062), ClassKnownKey, ClassKnownKey},
		{"mysql", my(3819), ClassOther, ClassUnknown},
		{"mysql", my(4025), ClassOther, ClassUnknown},
		{"mysql", my(1047), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1290), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1792), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1836), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1040), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1049), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1045), ClassUnavailable, ClassUnavailable},
		{"mysql", my(1053), ClassUnavailable, ClassUnknown},
		{"mysql", my(4031), ClassUnavailable, ClassUnknown},
		{"mysql", mysql.ErrInvalidConn, ClassUnavailable, ClassUnknown},
		{"mysql", driver.ErrBadConn, ClassUnavailable, ClassUnavailable},
		{"sqlite", context.DeadlineExceeded, ClassUnavailable, ClassUnknown},
		{"sqlite", &net.OpError{Op: "read", Err: errors.New("reset")}, ClassUnavailable, ClassUnknown},
		{"sqlite", errors.New("a surprise"), ClassOther, ClassUnknown},
	} {
		d := dialects()[c.dialect]
		wrapped := fmt.Errorf("wrapped: %w", c.err)
		require.Equal(t, c.want, ClassOf(engine.Classify(wrapped, d.ByCode)), "%s %v", c.dialect, c.err)
		require.Equal(t, c.late, ClassOf(engine.AtCommit(wrapped, d.ByCode)), "%s %v at commit", c.dialect, c.err)
	}
	require.NoError(t, engine.Classify(nil, dialects()["mysql"].ByCode))
}

// TestWriteRefusals: if a database accepts no writes, its error has the reason, before
// the commit and at the commit, and callers get the reason.
func TestWriteRefusals(t *testing.T) {
	t.Parallel()
	pg := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"} }
	my := func(number uint16, message string) error { return &mysql.MySQLError{Number: number, Message: message} }
	for _, c := range []struct {
		dialect string
		err     error
		want    string
	}{
		{"postgres", pg("53100"), "full"},
		{"postgres", pg("58030"), "io"},
		{"postgres", pg("25006"), "read-only"},
		{"postgres", pg("53200"), ""}, // memory
		{"mysql", my(1021, "Disk full (/tmp/x)"), "full"},
		{"mysql", my(1114, "The table 'awards' is full"), "full"},
		{"mysql", my(1030, `Got error 28 "No space left on device" from storage engine InnoDB`), "full"},
		{"mysql", my(1026, `Error writing file './binlog.000001' (Errcode: 28 "No space left on device")`), "full"},
		{"mysql", my(1030, "Got error 168 - 'Unknown (generic) error from engine' from storage engine"), "io"},
		{"mysql", my(1290, "--read-only"), "read-only"},
		{"mysql", my(1836, "Running in read-only mode"), "read-only"},
		{"mysql", my(1047, "WSREP has not yet prepared node"), "not-ready"},
		{"mysql", my(1040, "Too many connections"), ""},
		{"sqlite", io.ErrUnexpectedEOF, ""},
	} {
		e := &engine.Engine{Dialect: dialects()[c.dialect]}
		for _, err := range []error{engine.Classify(c.err, e.ByCode), engine.AtCommit(c.err, e.ByCode)} {
			l := &ledger.Ledger{Engine: e}
			l.Observe(err)
			require.Equal(t, c.want, l.WriteRefusal(), "%s %v", c.dialect, err)
			if err := l.CheckWritable(); c.want == "" {
				require.NoError(t, err)
			} else {
				require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
				require.Contains(t, draw.DetailOf(err), "takes no writes")
			}
		}
	}
}

// TestCallersSeeNoDatabaseText: callers get codes, but no text of the database.
func TestCallersSeeNoDatabaseText(t *testing.T) {
	for class, code := range map[Class]draw.Code{
		ClassConflict:    draw.CodeContended,
		ClassUnavailable: draw.CodeStoreUnavailable,
		ClassUnknown:     draw.CodeOutcomeUnknown,
		ClassOther:       draw.CodeInternal,
	} {
		err := engine.Public(&Error{Class: class, Reason: "r", Err: errors.New("SELECT secret FROM host")})
		e, ok := errors.AsType[*draw.Error](err)
		require.True(t, ok)
		require.Equal(t, code, e.Code)
		require.NotContains(t, e.Detail, "secret")
	}
	require.NoError(t, engine.Public(nil))
	require.NoError(t, engine.Public(engine.Classify(nil, dialects()["sqlite"].ByCode)))
}
