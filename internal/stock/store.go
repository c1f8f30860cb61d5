package stock

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/proof"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/agenda"
	"drawsvc/internal/stock/audit"
	"drawsvc/internal/stock/codes"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/jobrows"
	"drawsvc/internal/stock/ledger"
	"drawsvc/internal/stock/publiclog"
	"drawsvc/internal/stock/schema"
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
	// AbsentIsEmpty has ReadOnly read an SQLite file that is not there as an empty
	// database, and make none.
	AbsentIsEmpty bool
	// WALPages is how many pages of 4 KiB the write-ahead log of an SQLite file
	// gathers before they are copied into the file; 0 means WALPagesDefault.
	WALPages int
	// Changed, when set, is called with every pool whose stock or state this
	// process changed by other means than a draw.
	Changed func(poolID string)
	// Due, when set, is called with the number of items of agendas that this
	// process did of a kind, or of ItemFailed.
	Due func(kind draw.ItemKind, n int)
	// ClockLeap is the longest leap of the database's clock, against the time since
	// this machine started, that is followed at once. A longer one stops new draws of
	// pools with rules or an agenda; see Store.ClockLeapt. 0 follows every leap.
	ClockLeap time.Duration
	// Machine, when set, is this machine's clock, which an SQLite database goes by. It
	// is for tests.
	Machine func() time.Time
	// Identities unseal the secrets of pools that are committed to their numbers;
	// nil means none, and such pools cannot be drawn from.
	Identities *proof.Identities
	// SealKeys seal and open the codes of prizes; nil means none.
	SealKeys *seal.Keeper
	// Log takes what has no caller to hear it; nil means slog.Default.
	Log *slog.Logger
	// Migrations are the schema that the binary knows; none means those that
	// are embedded.
	Migrations migrations.Set
}

// LockWaitDefault is short enough that a request meets its deadline with an
// answer: a row that is locked for longer is reported as busy.
const LockWaitDefault = time.Second

// MigrateWaitDefault leaves a process that was killed, and a long audit, the time to
// end.
const MigrateWaitDefault = 2 * time.Minute

// WALPagesDefault makes a log of 8 MiB.
const WALPagesDefault = 2000

// Store is a database that holds pools. It is safe for concurrent use.
type Store struct {
	engine  *engine.Engine
	options Options
	*schema.Keeper
	*ledger.Clock
	*agenda.Planner
	*audit.Auditor
	*jobrows.Rows
	*publiclog.Store
	*codes.Register
	ledger *ledger.Ledger
	// hasUnreadable is what the last call of ReadWatched found.
	hasUnreadable atomic.Bool
}

// Open opens the database that url names: sqlite:PATH, postgres://… or
// mysql://…. It connects, and fails when it cannot; it does not touch the
// schema. Errors: CodeInvalidRequest for a URL that names no database,
// CodeStoreUnavailable when the database does not answer or, on SQLite, when
// another process has the file.
func Open(ctx context.Context, rawURL string, o Options) (*Store, error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, ok := dialects()[scheme]
	if !ok {
		return nil, errNoDatabase()
	}
	return open(ctx, d, rawURL, o.withDefaults())
}

func (o Options) withDefaults() Options {
	o.LockWait = cmp.Or(o.LockWait, LockWaitDefault)
	o.MigrateWait = cmp.Or(o.MigrateWait, MigrateWaitDefault)
	o.WALPages = cmp.Or(o.WALPages, WALPagesDefault)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Due == nil {
		o.Due = func(draw.ItemKind, int) {}
	}
	if o.Migrations.Files == nil {
		o.Migrations = migrations.Embedded()
	}
	return o
}

func open(ctx context.Context, d *engine.Dialect, rawURL string, o Options) (*Store, error) {
	brought, err := schema.Bring(o.Migrations, d.Folder)
	if err != nil {
		return nil, err
	}
	d.Features = &engine.Features{}
	e, err := d.Open(ctx, d, rawURL, o.engine())
	if err != nil {
		return nil, openError(err)
	}
	if err := e.Read.PingContext(ctx); err != nil {
		_ = e.Close() // it is the first error that matters
		return nil, openError(err)
	}
	keeper := schema.New(e, brought, o.MigrateWait, o.Log)
	l := ledger.New(ctx, e, ledger.Options{
		ReadOnly: o.ReadOnly, Changed: o.Changed, LeapMax: o.ClockLeap, Machine: o.Machine, Admits: keeper.Admits, Log: o.Log,
	})
	register := codes.New(l, o.SealKeys, o.Log)
	return &Store{
		Register: register,
		engine:   e, options: o, ledger: l, Keeper: keeper, Clock: l.Clock,
		Planner: agenda.New(l, o.Due), Auditor: audit.New(l, register.AuditCodes), Rows: jobrows.New(l), Store: publiclog.New(l, o.Identities),
	}, nil
}

// engine are the options for the engine.
func (o Options) engine() engine.Options {
	return engine.Options{
		LockWait: o.LockWait, ReadOnly: o.ReadOnly, AbsentIsEmpty: o.AbsentIsEmpty, WALPages: o.WALPages, Log: o.Log,
		Examine: func(ctx context.Context, path string) error {
			_, err := examine(ctx, path, o)
			return err
		},
	}
}

// CheckURL reports whether rawURL names a database of a kind that is known; what
// follows the scheme is not read. Error: CodeInvalidRequest.
func CheckURL(rawURL string) error {
	scheme, _, _ := strings.Cut(rawURL, ":")
	if _, ok := dialects()[scheme]; !ok {
		return errNoDatabase()
	}
	return nil
}

func errNoDatabase() error {
	return draw.Errorf(draw.CodeInvalidRequest, "database must be sqlite:PATH, postgres://… or mysql://USER:PASS@HOST:PORT/DB")
}

// openError says why a database could not be opened.
func openError(err error) error {
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the database cannot be opened")
}

// Close closes all connections. It returns the first error of closing.
func (s *Store) Close() error { return s.engine.Close() }

// Dialect is the name of the database's kind: "sqlite", "postgres" or "mysql".
func (s *Store) Dialect() string { return s.engine.Name }

// Engine is the open database, for the packages below this one.
func (s *Store) Engine() *engine.Engine { return s.engine }

// SharesSessions says that a proxy hands the sessions of the server around
// among its clients, so that nothing that belongs to a session can be relied
// on: no advisory lock, no setting, no prepared statement.
func (s *Store) SharesSessions() bool { return s.engine.Pooling == engine.PooledByTransaction }

// LockDB returns the connections that external locks use. On SQLite it is the
// single writer: it must not be held while a draw is decided.
func (s *Store) LockDB() *sql.DB { return s.engine.Lock }

// WatchSchema has the schema checked about once a second, and the database's clock
// read about every ten seconds, until the store is closed. It is called once, before
// the store is used by others.
func (s *Store) WatchSchema() {
	s.Keeper.Watch()
	s.WatchClock()
}

// CheckWritable reports whether the database takes writes, as far as the last ones
// say. It asks nobody: see [Store.WatchWrites]. Error: CodeStoreUnavailable.
func (s *Store) CheckWritable() error { return s.ledger.CheckWritable() }

// WriteRefusal is the reason for which the database takes no writes, one of
// [WriteRefusals], "" while it takes them.
func (s *Store) WriteRefusal() string { return s.ledger.WriteRefusal() }

// WatchWrites has a write tried about once a second while the database takes none, until
// the store is closed. It is called once, before the store is used by others.
func (s *Store) WatchWrites() { s.ledger.WatchWrites() }

// LockStatements are those of the locks in the database.
func (s *Store) LockStatements() locksql.Statements { return s.engine.Locks }

// Ping reports whether the database answers: nil or CodeStoreUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.engine.Probe.PingContext(ctx); err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database does not answer")
	}
	return nil
}

// Connections counts the connections that draws use.
func (s *Store) Connections() engine.Connections { return s.engine.Connections() }
