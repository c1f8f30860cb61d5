package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/squirrel"
	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"drawsvc/internal/draw"
)

func sqliteDialect() *dialect {
	return &dialect{
		name:        "sqlite",
		open:        openSQLite,
		classify:    classifySQLite,
		isNoTable:   func(err error) bool { return classifySQLite(err).Reason == "sqlite-1" }, // has no finer code
		placeholder: squirrel.Question,
		forUpdate:   "",     // BEGIN IMMEDIATE locks the whole file
		writable:    "TRUE", // a file has no standby
		awardPrize:  awardPrize,
		snapshot:    sql.TxOptions{ReadOnly: true},
		migrations:  goose.DialectSQLite3,
		folder:      "sqlite",
		doctor:      sqliteDoctor(),
	}
}

// openSQLite opens one connection that writes and some that read. The file is
// this process's alone: a second writer would only wait, and its draws would
// contend without need.
func openSQLite(ctx context.Context, s *Store, rawURL string) error {
	path := strings.TrimPrefix(rawURL, "sqlite:")
	if path == "" || strings.HasPrefix(path, ":") || strings.ContainsAny(path, "?\x00") {
		return draw.Errorf(draw.CodeInvalidRequest, "database sqlite:PATH needs the path of a file")
	}
	if s.options.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return draw.Wrap(draw.CodeStoreUnavailable, err, "there is no database file %s", path)
		}
	} else if err := s.lockFile(path); err != nil {
		return err
	}
	open := func(connections int, settings ...string) (*sql.DB, error) {
		// What waits is waiting for somebody outside this process, a backup for
		// example.
		settings = append(settings, fmt.Sprintf("_pragma=busy_timeout(%d)", s.options.LockWait.Milliseconds()))
		db, err := sql.Open("sqlite", sqliteURL(path, settings...))
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		s.closers = append(s.closers, db.Close)
		return db, nil
	}
	var err error
	if s.read, err = open(sqliteReaders, "_pragma=query_only(1)"); err != nil {
		return err
	}
	s.write = s.read
	if !s.options.ReadOnly {
		// IMMEDIATE: a transaction that reads before it writes would get BUSY
		// at once, however long it may wait. FULL: a commit is on the disk
		// before it is answered; NORMAL loses the last ones at power loss.
		if s.write, err = open(1, "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)"); err != nil {
			return err
		}
		if err := s.write.PingContext(ctx); err != nil { // makes the file, before the first reader asks for it
			return err
		}
	}
	s.lock, s.migrate = s.write, s.write
	s.attempts = &sqlAttempts{writer: s.write, reader: s.read, dialect: s.dialect, words: sqliteWords(s.dialect)}
	s.connections = databaseConnections(s.write)
	return nil
}

// sqliteReaders are the connections that read beside the writer.
const sqliteReaders = 4

func sqliteURL(path string, settings ...string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	u.RawQuery = strings.Join(append(settings, "_pragma=foreign_keys(1)"), "&")
	return u.String()
}

// lockFile takes the file for this process. The lock is on a file of its own
// beside it: closing any descriptor of the database file would drop SQLite's
// own locks.
func (s *Store) lockFile(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // one file, one lock, whatever it is called
	}
	file := flock.New(path + ".lock")
	locked, err := file.TryLock()
	if err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database file %s cannot be opened", path)
	}
	if !locked {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database file %s is in use by another process", path)
	}
	s.closers = append(s.closers, file.Unlock)
	return nil
}

// classifySQLite knows the codes of https://www.sqlite.org/rescode.html.
func classifySQLite(err error) *Error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return knownKey(err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return conflict(ReasonLockWait, err)
	case sqlite3.SQLITE_FULL: // the frames of the commit found no place
		return unavailable("full", err, true)
	case sqlite3.SQLITE_IOERR:
		return unavailable("io", err, false)
	case sqlite3.SQLITE_READONLY:
		return unavailable(reasonReadOnly, err, true)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM:
		return unavailable("unavailable", err, false)
	}
	return other(fmt.Sprintf("sqlite-%d", e.Code()), err, false)
}
