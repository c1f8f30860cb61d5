package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"drawsvc/internal/stock/engine"
)

// classify classifies the codes of https://www.sqlite.org/rescode.html.
func classify(err error) *engine.Error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return engine.KnownKey(err)
	case sqlite3.SQLITE_CONSTRAINT_COMMITHOOK: // the guard refused the commit
		return engine.Unavailable(reasonStopped, err, true)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return engine.Conflict(engine.ReasonLockWait, err)
	case sqlite3.SQLITE_FULL: // the disk had no space for the commit
		return engine.Unavailable(engine.ReasonFull, err, true)
	case sqlite3.SQLITE_IOERR:
		return engine.Unavailable(engine.ReasonIO, err, false)
	case sqlite3.SQLITE_READONLY:
		return engine.Unavailable(engine.ReasonReadOnly, err, true)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return engine.Unavailable(reasonDamaged, err, false)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM:
		return engine.Unavailable("unavailable", err, false)
	}
	return engine.Other(fmt.Sprintf("sqlite-%d", e.Code()), err, false)
}

// IsDamaged reports whether an error means that the file is damaged.
func IsDamaged(err error) bool {
	e := classify(err)
	return e != nil && e.Reason == reasonDamaged
}

// isFull reports whether an error means that a disk is full.
func isFull(err error) bool {
	e := classify(err)
	return e != nil && e.Reason == engine.ReasonFull
}
