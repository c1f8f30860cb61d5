package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// readRows implements engine.ReadRows. It decodes values from the protocol's binary form
// directly into the fields, without values of package database/sql. It returns the errors
// of pgx. For driver.ErrBadConn, conn.Raw would wait for the end of the transaction on
// conn, but the caller ends the transaction only afterwards.
func readRows(ctx context.Context, conn *sql.Conn, query string, args, fields []any, each func()) error {
	into := make([]any, len(fields))
	for i, field := range fields {
		into[i] = field
		if t, is := field.(interface{ Time() *time.Time }); is {
			into[i] = (*inUTC)(t.Time())
		}
	}
	return conn.Raw(func(c any) error {
		rows, err := c.(*stdlib.Conn).Conn().Query(ctx, query, args...)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, into, func() error { each(); return nil })
		return err
	})
}

// inUTC scans a time as UTC, in any time zone of this machine.
type inUTC time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (t *inUTC) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = inUTC(v.Time.UTC())
	return nil
}
