package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqlitefile"
	"drawsvc/internal/stock/sqltx"
)

// Dialect returns SQLite's dialect.
func Dialect() *engine.Dialect {
	return &engine.Dialect{
		Name:        "sqlite",
		Open:        open,
		ByCode:      classify,
		IsNoTable:   func(err error) bool { return classify(err).Reason == "sqlite-1" }, // has no code of its own
		Placeholder: squirrel.Question,
		Time:        func(t time.Time) any { return t.Format(engine.TimeText) },
		ForUpdate:   "",     // BEGIN IMMEDIATE locks the whole file
		Writable:    "TRUE", // a file has no standby
		Snapshot:    sql.TxOptions{ReadOnly: true},
		AwardPrize:  engine.AwardPrize,
		TurnAward:   engine.TurnAward,
		CodeOnce: `SELECT COUNT(*) FROM pragma_index_list('codes') AS l
			WHERE l."unique" AND NOT l.partial AND (SELECT group_concat(i.name) FROM pragma_index_info(l.name) AS i) = 'digest'`,
		Restock:    engine.Restock,
		Migrations: goose.DialectSQLite3,
		Locks:      locks(),
		Doctor:     doctor(),
		Folder:     "sqlite",
	}
}

// open opens one connection that writes and some that read. This process has the file
// exclusively. A second writer would not help: it would wait for the first, and their
// draws would conflict.
func open(ctx context.Context, d *engine.Dialect, rawURL string, o engine.Options) (*engine.Engine, error) {
	path, err := Path(rawURL)
	if err != nil {
		return nil, err
	}
	of := *d
	e := &engine.Engine{Dialect: &of}
	if o.ReadOnly {
		err = read(e, path, o)
	} else {
		err = serve(ctx, e, path, o)
	}
	if err != nil {
		_ = e.Close() // the first error is the relevant one
		return nil, err
	}
	awards := engine.Awards()
	e.Attempts = sqltx.New(e.Write, e.Read, e.Dialect, awards, statements(e.Dialect, awards))
	e.Connections = engine.CountConnections(e.Write)
	return e, nil
}

// serve opens the file exclusively for this process.
func serve(ctx context.Context, e *engine.Engine, path string, o engine.Options) error {
	file, err := lockAdmitted(ctx, path, o)
	if err != nil {
		return err
	}
	g := &guard{file: file, log: o.Log, full: make(chan struct{}, 1), framesMax: int64(o.WALPages)}
	e.OnClose(g.close)
	// IMMEDIATE: otherwise a transaction that reads before it writes would get BUSY at
	// once, however long its timeout is. FULL: a commit is on the disk before it is
	// answered, while NORMAL loses the last commits at power loss. Turns copy the WAL to
	// the file, so SQLite itself must not.
	e.Write, err = connect(path, 1, o, g.watch, "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return err
	}
	e.OnClose(func() error { return g.closeWriter(e.Write) })
	if err := g.begin(ctx, e.Write, path); err != nil { // this creates the file, before a reader needs it
		return err
	}
	for _, pool := range []struct {
		db          **sql.DB
		connections int
	}{{&e.Read, engine.ReadConnections}, {&e.ReadBack, 1}, {&e.Probe, engine.ProbeConnections}} {
		db, err := connect(path, pool.connections, o, nil, "_pragma=query_only(1)")
		if err != nil {
			return err
		}
		e.OnClose(db.Close)
		*pool.db = db
	}
	e.Lock, e.Migrate, e.Usable, e.ByCode = e.Write, e.Write, g.usable, g.classify
	return nil
}

// Path returns the path of the file from a URL of the form sqlite:PATH. Error:
// CodeInvalidRequest.
func Path(rawURL string) (string, error) {
	path := strings.TrimPrefix(rawURL, "sqlite:")
	if path == "" || strings.HasPrefix(path, ":") || strings.ContainsAny(path, "?\x00") {
		return "", draw.Errorf(draw.CodeInvalidRequest, "database sqlite:PATH needs the path of a file")
	}
	return path, nil
}

// read opens connections that change nothing, whether or not a service uses the same
// file. A connection that may write would copy an existing WAL to the file when it is
// closed, even if the WAL does not belong to the file.
func read(e *engine.Engine, path string, o engine.Options) (err error) {
	if sqlitefile.Interrupted(path) {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"a restore of the database file %s was interrupted: start the service, which finishes it, or run `drawsvc restore` again", path)
	}
	settings := []string{"_pragma=query_only(1)"}
	if _, err := os.Stat(path); err != nil {
		_, noFolder := os.Stat(filepath.Dir(path))
		if noFolder != nil || !errors.Is(err, fs.ErrNotExist) || !o.AbsentIsEmpty {
			return draw.Wrap(draw.CodeStoreUnavailable, err, "there is no database file %s", path)
		}
		settings = append(settings, "mode=memory") // each connection has its own database, and all are empty
	}
	if sqlitefile.HasWAL(path) {
		settings = append(settings, "mode=ro")
	}
	if e.Read, err = connect(path, engine.ReadConnections, o, nil, settings...); err != nil {
		return err
	}
	e.OnClose(e.Read.Close)
	e.Write, e.ReadBack, e.Probe, e.Lock, e.Migrate = e.Read, e.Read, e.Read, e.Read, e.Read
	return nil
}

// connect creates a pool of connections. If prepare is set, it is called for each new
// connection.
func connect(path string, connections int, o engine.Options, prepare func(driver.Conn) error, settings ...string) (*sql.DB, error) {
	// Only another process can make a statement wait here.
	settings = append(settings, fmt.Sprintf("_pragma=busy_timeout(%d)", o.LockWait.Milliseconds()), "_pragma=foreign_keys(1)")
	c, err := sqlite.NewConnector(uri(path, settings...))
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

// uri returns the URI of a path, with settings, in the form that SQLite reads.
func uri(path string, settings ...string) string {
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
