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
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/sqlitefile"
)

func sqliteDialect() *Dialect {
	return &Dialect{
		Name:        "sqlite",
		Open:        openSQLite,
		ByCode:      classifySQLite,
		IsNoTable:   func(err error) bool { return classifySQLite(err).Reason == "sqlite-1" }, // has no finer code
		Placeholder: squirrel.Question,
		Time:        func(t time.Time) any { return t.Format(timeText) },
		ForUpdate:   "",     // BEGIN IMMEDIATE locks the whole file
		Writable:    "TRUE", // a file has no standby
		Snapshot:    sql.TxOptions{ReadOnly: true},
		AwardPrize:  awardPrize,
		Restock:     restock,
		Migrations:  goose.DialectSQLite3,
		Folder:      "sqlite",
	}
}

// openSQLite opens one connection that writes and some that read. The file is
// this process's alone: a second writer would only wait, and its draws would
// contend without need.
func openSQLite(ctx context.Context, d *Dialect, rawURL string, o EngineOptions) (*Engine, error) {
	path, err := sqlitePath(rawURL)
	if err != nil {
		return nil, err
	}
	of := *d
	e := &Engine{Dialect: &of}
	if o.ReadOnly {
		err = readSQLite(e, path, o)
	} else {
		err = serveSQLite(ctx, e, path, o)
	}
	if err != nil {
		_ = e.Close() // it is the first error that matters
		return nil, err
	}
	awards := Awards()
	e.Attempts = &sqlAttempts{writer: e.Write, reader: e.Read, dialect: e.Dialect, awards: awards, words: sqliteWords(e.Dialect, awards)}
	e.Connections = databaseConnections(e.Write)
	return e, nil
}

// serveSQLite opens the file for this process alone.
func serveSQLite(ctx context.Context, e *Engine, path string, o EngineOptions) error {
	file, err := lockSQLite(ctx, path, o)
	if err != nil {
		return err
	}
	g := &sqliteGuard{file: file, log: o.Log, full: make(chan struct{}, 1), framesMax: int64(o.WALPages)}
	e.OnClose(g.close)
	// IMMEDIATE: a transaction that reads before it writes would get BUSY at
	// once, however long it may wait. FULL: a commit is on the disk before it is
	// answered; NORMAL loses the last ones at power loss. The WAL is copied into
	// the file by turns, and not by SQLite itself.
	e.Write, err = connectSQLite(path, 1, o, g.guard, "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return err
	}
	e.OnClose(func() error { return g.closeWriter(e.Write) })
	if err := g.begin(ctx, e.Write, path); err != nil { // makes the file, before the first reader asks for it
		return err
	}
	if e.Read, err = connectSQLite(path, sqliteReaders, o, nil, "_pragma=query_only(1)"); err != nil {
		return err
	}
	e.OnClose(e.Read.Close)
	e.Lock, e.Migrate, e.Usable, e.ByCode = e.Write, e.Write, g.usable, g.classify
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
func readSQLite(e *Engine, path string, o EngineOptions) (err error) {
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
	if e.Read, err = connectSQLite(path, sqliteReaders, o, nil, settings...); err != nil {
		return err
	}
	e.OnClose(e.Read.Close)
	e.Write, e.Lock, e.Migrate = e.Read, e.Read, e.Read
	return nil
}

// sqliteReaders are the connections that read beside the writer.
const sqliteReaders = 4

// connectSQLite makes a pool of connections, each of which is prepared when it
// is made, where prepare is set.
func connectSQLite(path string, connections int, o EngineOptions, prepare func(driver.Conn) error, settings ...string) (*sql.DB, error) {
	// What waits is waiting for somebody outside this process.
	settings = append(settings, fmt.Sprintf("_pragma=busy_timeout(%d)", o.LockWait.Milliseconds()), "_pragma=foreign_keys(1)")
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
