package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
)

// Options of a Store.
type Options struct {
	// LockWait is the longest that a statement waits for a row lock; 0 means
	// LockWaitDefault.
	LockWait time.Duration
	// MigrateWait is the longest that Migrate waits for another process that
	// migrates, or for locks of others; 0 means MigrateWaitDefault.
	MigrateWait time.Duration
	// ReadOnly opens a database for reading alone. An SQLite file that another
	// process serves can be read so.
	ReadOnly bool
	// WALPages is how many pages of 4 KiB the write-ahead log of an SQLite file
	// gathers before they are copied into the file; 0 means WALPagesDefault.
	WALPages int
	// Changed, when set, is told of every pool whose stock or state this
	// process changed by other means than a draw.
	Changed func(poolID string)
	// Log takes what has no caller to be told; nil means slog.Default.
	Log *slog.Logger
	// Migrations are the schema that the binary knows; none means those that
	// are embedded.
	Migrations migrations.Set
}

// LockWaitDefault is short enough that a request meets its deadline with an
// answer: a row that is locked for longer is reported as busy.
const LockWaitDefault = time.Second

// WALPagesDefault makes a log of 8 MiB.
const WALPagesDefault = 2000

// Store is a database that holds pools. It is safe for concurrent use.
type Store struct {
	dialect *dialect
	options Options
	// write takes statements that may write, read those that do not; on
	// server databases they are one pool of connections, on SQLite they are
	// the single writer and the readers.
	write, read *sql.DB
	// lock is a pool of connections of its own for external locks, so that
	// draws that hold a lock never wait for connections held by others that
	// wait for locks.
	lock *sql.DB
	// migrate takes the statements of migrations, which may last for hours.
	migrate *sql.DB
	// brought is the schema that this binary knows, admission whether the
	// database's lets it work.
	brought   brought
	admission admission
	attempts  attempts
	// limits, when set, is a statement that bounds the transaction it is in.
	limits string
	// connections counts those that draws use.
	connections func() (open, inUse, most int)
	// leave, when set, closes the connections to a server that can no longer be
	// written, so that the next ones are made to another.
	leave func()
	// several says that there is more than one host to connect to.
	several bool
	// confirm, when set, returns when everything that could be read before is
	// as safe as what is acknowledged, or an *Error with its class.
	confirm func(ctx context.Context) error
	// usable returns nil, or an *Error when the database must not be used any
	// more.
	usable  func() error
	closers []func() error
	// pooling is how a proxy before the server shares its sessions.
	pooling pooling
}

// attempts are made at batches in the way of the database.
type attempts interface {
	read(ctx context.Context, urn *draw.Urn, o TxOptions) (Tx, error)
	write(ctx context.Context, p *draw.Plan, o TxOptions) error
}

// Open opens the database that url names: sqlite:PATH, postgres://… or
// mysql://…. It connects, and fails when it cannot; it does not touch the
// schema. Errors: CodeInvalidRequest for a URL that names no database,
// CodeStoreUnavailable when the database does not answer or, on SQLite, when
// another process has the file.
func Open(ctx context.Context, rawURL string, o Options) (*Store, error) {
	if o.LockWait == 0 {
		o.LockWait = LockWaitDefault
	}
	if o.MigrateWait == 0 {
		o.MigrateWait = MigrateWaitDefault
	}
	if o.WALPages == 0 {
		o.WALPages = WALPagesDefault
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Migrations.Files == nil {
		o.Migrations = migrations.Embedded()
	}
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, ok := dialects()[scheme]
	if !ok {
		return nil, errNoDatabase()
	}
	s := &Store{dialect: d, options: o, admission: newAdmission(), usable: func() error { return nil }}
	var err error
	if s.brought, err = bring(o.Migrations, d.folder); err != nil {
		return nil, err
	}
	if err := d.open(ctx, s, rawURL); err != nil {
		return nil, openError(err, s.Close())
	}
	if err := s.read.PingContext(ctx); err != nil {
		return nil, openError(err, s.Close())
	}
	return s, nil
}

func errNoDatabase() error {
	return draw.Errorf(draw.CodeInvalidRequest, "database must be sqlite:PATH, postgres://… or mysql://USER:PASS@HOST:PORT/DB")
}

// openError says why a database could not be opened; the second error, of
// closing what had been opened, only matters for the log and is dropped.
func openError(err, _ error) error {
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the database cannot be opened")
}

// Close closes all connections. It returns the first error of closing.
func (s *Store) Close() error {
	var first error
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i](); err != nil && first == nil {
			first = err
		}
	}
	s.closers = nil
	return first
}

// Dialect is the name of the database's kind: "sqlite", "postgres" or "mysql".
func (s *Store) Dialect() string { return s.dialect.name }

// SharesSessions says that a proxy hands the sessions of the server around
// among its clients, so that nothing that belongs to a session can be relied
// on: no advisory lock, no setting, no prepared statement.
func (s *Store) SharesSessions() bool { return s.pooling == pooledByTransaction }

// LockDB returns the connections that external locks use. On SQLite it is the
// single writer: it must not be held while a draw is decided.
func (s *Store) LockDB() *sql.DB { return s.lock }

// Ping reports whether the database answers: nil or CodeStoreUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read.PingContext(ctx); err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database does not answer")
	}
	return nil
}

// Connections counts the connections that draws use: those open, those in use,
// and the most allowed.
func (s *Store) Connections() (open, inUse, most int) { return s.connections() }

// databaseConnections counts those of a pool of database/sql.
func databaseConnections(db *sql.DB) func() (open, inUse, most int) {
	return func() (open, inUse, most int) {
		stats := db.Stats()
		return stats.OpenConnections, stats.InUse, stats.MaxOpenConnections
	}
}

// Read begins an attempt at deciding a batch on the urn's pool. It reads the
// pool row, and the prizes that have changed since the urn's version, into the
// urn; with o.Lock the row stays locked until the attempt ends. Errors:
// CodePoolNotFound, CodeStoreUnavailable when the schema does not admit this
// binary, or an *Error with its class.
func (s *Store) Read(ctx context.Context, urn *draw.Urn, o TxOptions) (Tx, error) {
	if err := cmp.Or(s.usable(), s.admission.admitted()); err != nil {
		return nil, err
	}
	tx, err := s.attempts.read(ctx, urn, o)
	if err == nil {
		return &watchedTx{Tx: tx, store: s}, nil
	}
	return nil, s.notRead(err, urn)
}

// notRead returns the error of a read, after which the copies of the pools are
// no longer trusted, unless it is a conflict.
func (s *Store) notRead(err error, urns ...*draw.Urn) error {
	err = classify(err, s.dialect.classify)
	if class := ClassOf(err); class != ClassConflict && class != ClassStaleToken {
		for _, urn := range urns {
			urn.Invalidate()
		}
	}
	s.lookElsewhere(err)
	return err
}

// Write is the guarded write (see [Tx]) of a plan that was made from a cached
// copy, without reading the pool first. With o.Lock it waits for the pool's
// row as Read would. Errors: those of the guarded write, and CodeStoreUnavailable
// when the schema does not admit this binary.
func (s *Store) Write(ctx context.Context, p *draw.Plan, o TxOptions) error {
	if err := s.admission.admitted(); err != nil {
		return err
	}
	err := s.attempts.write(ctx, p, o)
	s.lookElsewhere(err)
	return err
}

// watchedTx notices at the write that the server can no longer be written.
type watchedTx struct {
	Tx
	store  *Store
	failed error
}

// Draws implements Tx.
func (tx *watchedTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	found, err := tx.Tx.Draws(ctx, poolID, ids)
	tx.failed = err
	return found, err
}

// Write implements Tx.
func (tx *watchedTx) Write(ctx context.Context, p *draw.Plan) error {
	tx.failed = tx.Tx.Write(ctx, p)
	return tx.failed
}

// Rollback implements Tx.
func (tx *watchedTx) Rollback() {
	tx.Tx.Rollback()
	tx.store.lookElsewhere(tx.failed) // now that the connection is given back
	tx.failed = nil
}

// lookElsewhere leaves a server that says that another is to be written, and
// one of several that has fallen silent: its other connections would be found
// dead one after the other, each at the end of a batch's time.
func (s *Store) lookElsewhere(err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok || s.leave == nil {
		return
	}
	if e.Reason == reasonReadOnly || e.Reason == reasonNotReady || s.several && errors.Is(e, context.DeadlineExceeded) {
		s.leave()
	}
}

// parseURL reads a database URL of the form SCHEME://USER:PASS@HOST:PORT,…/DB
// and its hosts, of which there may be several.
func parseURL(rawURL, port string) (*url.URL, []string, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	at := strings.LastIndex(authority, "@") + 1
	// url.Parse knows one host only. The text of its error would show the
	// password.
	u, err := url.Parse(scheme + "://" + authority[:at] + "host" + rest[end:])
	if err != nil {
		return nil, nil, errURL()
	}
	hosts := strings.Split(authority[at:], ",")
	for i, host := range hosts {
		one, err := url.Parse("any://" + host)
		if err != nil || one.Hostname() == "" || one.Host != host {
			return nil, nil, errURL()
		}
		hosts[i] = net.JoinHostPort(one.Hostname(), cmp.Or(one.Port(), port))
	}
	return u, hosts, nil
}

func errURL() error {
	return draw.Errorf(draw.CodeInvalidRequest, "the database URL cannot be read")
}
