package stock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/Masterminds/squirrel"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/sqlitefile"
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
	path, err := sqlitePath(rawURL)
	if err != nil {
		return err
	}
	if s.options.ReadOnly {
		return s.readSQLite(path)
	}
	file, err := s.lockSQLite(ctx, path)
	if err != nil {
		return err
	}
	g := &sqliteGuard{file: file, log: s.options.Log, full: make(chan struct{}, 1), framesMax: int64(s.options.WALPages)}
	s.closers = append(s.closers, g.close)
	// IMMEDIATE: a transaction that reads before it writes would get BUSY at
	// once, however long it may wait. FULL: a commit is on the disk before it is
	// answered; NORMAL loses the last ones at power loss. The WAL is copied into
	// the file by turns, and not by SQLite itself.
	s.write, err = s.connectSQLite(path, 1, g.guard, "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return g.closeWriter(s.write) })
	if err := g.begin(ctx, s, path); err != nil { // makes the file, before the first reader asks for it
		return err
	}
	if s.read, err = s.connectSQLite(path, sqliteReaders, nil, "_pragma=query_only(1)"); err != nil {
		return err
	}
	s.closers = append(s.closers, s.read.Close)
	s.lock, s.migrate, s.usable = s.write, s.write, g.usable
	s.dialect.classify = g.classify
	s.attempts = &sqlAttempts{writer: s.write, reader: s.read, dialect: s.dialect, words: sqliteWords(s.dialect)}
	s.connections = databaseConnections(s.write)
	return nil
}

func sqlitePath(rawURL string) (string, error) {
	path := strings.TrimPrefix(rawURL, "sqlite:")
	if path == "" || strings.HasPrefix(path, ":") || strings.ContainsAny(path, "?\x00") {
		return "", draw.Errorf(draw.CodeInvalidRequest, "database sqlite:PATH needs the path of a file")
	}
	return path, nil
}

// readSQLite opens connections that change nothing, beside a service or
// without one. Where there is a WAL, a connection that may write would copy it
// into the file when it is closed, whether it belongs to the file or not.
func (s *Store) readSQLite(path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "there is no database file %s", path)
	}
	if sqlitefile.Interrupted(path) {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"a restore of the database file %s was interrupted: start the service, which finishes it, or run `drawsvc restore` again", path)
	}
	settings := []string{"_pragma=query_only(1)"}
	if sqlitefile.HasWAL(path) {
		settings = append(settings, "mode=ro")
	}
	if s.read, err = s.connectSQLite(path, sqliteReaders, nil, settings...); err != nil {
		return err
	}
	s.closers = append(s.closers, s.read.Close)
	s.write, s.lock, s.migrate = s.read, s.read, s.read
	s.attempts = &sqlAttempts{writer: s.write, reader: s.read, dialect: s.dialect, words: sqliteWords(s.dialect)}
	s.connections = databaseConnections(s.write)
	return nil
}

// sqliteReaders are the connections that read beside the writer.
const sqliteReaders = 4

// connectSQLite makes a pool of connections, each of which is prepared when it
// is made, where prepare is set.
func (s *Store) connectSQLite(path string, connections int, prepare func(driver.Conn) error, settings ...string) (*sql.DB, error) {
	// What waits is waiting for somebody outside this process.
	settings = append(settings, fmt.Sprintf("_pragma=busy_timeout(%d)", s.options.LockWait.Milliseconds()), "_pragma=foreign_keys(1)")
	c, err := sqlite.NewConnector(sqliteURI(path, settings...))
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		c = preparedConnector{c, prepare}
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// sqliteURI is how SQLite is told a path and settings.
func sqliteURI(path string, settings ...string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: strings.Join(settings, "&")}
	return u.String()
}

type preparedConnector struct {
	driver.Connector
	prepare func(driver.Conn) error
}

// Connect implements driver.Connector.
func (c preparedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
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
	case sqlite3.SQLITE_CONSTRAINT_COMMITHOOK: // the guard
		return unavailable(reasonStopped, err, true)
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
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return unavailable(reasonDamaged, err, false)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM:
		return unavailable("unavailable", err, false)
	}
	return other(fmt.Sprintf("sqlite-%d", e.Code()), err, false)
}
