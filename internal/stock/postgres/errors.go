package postgres

import (
	"cmp"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"drawsvc/internal/stock/engine"
)

// classify classifies the SQLSTATEs of
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func classify(err error) *engine.Error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if _, connects := errors.AsType[*pgconn.ConnectError](err); connects { // nothing was sent
		reason := "connection"
		if ok {
			reason = cmp.Or(reasonOfDisk(e), reason)
		}
		return engine.Unavailable(reason, err, true)
	}
	if !ok {
		if pgconn.SafeToRetry(err) {
			// pgx also returns "conn closed" for a statement that was sent but whose
			// answer was cut off. Then a retry is not safe.
			return engine.Unavailable("connection", err, !errors.Is(err, pgconn.ErrConnClosed))
		}
		return nil
	}
	// An ERROR ends its transaction. FATAL and PANIC end the session, and may come when
	// the commit is already on the disk.
	undone := e.SeverityUnlocalized == "ERROR"
	if reason := reasonOfDisk(e); reason != "" {
		return engine.Unavailable(reason, err, undone)
	}
	switch e.Code {
	case "40001":
		return engine.Conflict("serialization", err)
	case "40P01":
		return engine.Conflict("deadlock", err)
	case "55P03":
		return engine.Conflict(engine.ReasonLockWait, err)
	case "23505":
		if e.TableName == "turns" {
			return engine.Conflict(engine.ReasonTurn, nil)
		}
		return engine.KnownKey(err)
	case "25006":
		return engine.Unavailable(engine.ReasonReadOnly, err, undone)
	case "25P03", "25P04": // ended by a time limit of the server, which a jump of its clock can trigger
		return engine.Unavailable("unavailable", err, undone)
	}
	switch e.Code[:2] {
	case "08", "53", "57", "58": // connection, resources, operator intervention, system
		return engine.Unavailable("unavailable", err, undone)
	}
	return engine.Other("sqlstate-"+e.Code, err, undone)
}

// reasonOfDisk returns the reason if the server could not write or open one of its files,
// and "" for other errors. The server reports the system's errors EROFS, EACCES and EPERM
// as SQLSTATE 42501, which also means that the database user lacks a privilege.
func reasonOfDisk(e *pgconn.PgError) string {
	switch {
	case e.Code == "53100":
		return engine.ReasonFull
	case e.Code == "58030", e.Code == "42501" && slices.Contains([]string{"fd.c", "md.c", "slru.c", "xlog.c"}, e.File):
		return engine.ReasonIO
	}
	return ""
}
