package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/proof"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/agenda"
	"drawsvc/internal/stock/audit"
	"drawsvc/internal/stock/codes"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/hooks"
	"drawsvc/internal/stock/jobrows"
	"drawsvc/internal/stock/ledger"
	"drawsvc/internal/stock/publiclog"
	"drawsvc/internal/stock/schema"
	"drawsvc/internal/stock/steps"
)

// Options of a Store.
type Options struct {
	// LockWait is the maximum time that a statement waits for a row lock; 0 means
	// LockWaitDefault.
	LockWait time.Duration
	// MigrateWait is the maximum time that Migrate waits for another migrating process,
	// or for locks of other sessions; 0 means MigrateWaitDefault.
	MigrateWait time.Duration
	// ReadOnly opens a database read-only. This allows reading an SQLite file that
	// another process serves.
	ReadOnly bool
	// AbsentIsEmpty makes ReadOnly treat an SQLite file that does not exist as an empty
	// database. The file is not created.
	AbsentIsEmpty bool
	// WALPages is how many pages of 4 KiB the write-ahead log of an SQLite file
	// collects before they are copied to the file; 0 means WALPagesDefault.
	WALPages int
	// Changed, if set, is called with the name of a pool after this process has changed
	// the pool's stock or state, except by a draw.
	Changed func(poolID string)
	// Due, if set, is called with a kind of items, or ItemFailed or ItemLapsed, and the
	// number of such items that this process carried out.
	Due func(kind draw.ItemKind, n int)
	// Stepped, if set, is called with a kind of steps and the number of such steps that
	// this process wrote.
	Stepped func(what draw.StepKind, n int)
	// ClockLeap is the largest leap of the database's clock that is followed at once; 0
	// follows every leap. Leaps are measured against the time since this machine started.
	// A larger leap stops new draws of pools with rules or an agenda; see
	// Store.ClockLeapt.
	ClockLeap time.Duration
	// Machine, if set, is this machine's clock, which an SQLite database uses. It is
	// for tests.
	Machine func() time.Time
	// Identities unseal the secrets of committed pools; nil means none. Without them,
	// such pools cannot be drawn from.
	Identities *proof.Identities
	// SealKeys seal and unseal the codes of prizes; nil means none.
	SealKeys *seal.Keeper
	// Log gets the events that no caller receives as an error; nil means slog.Default.
	Log *slog.Logger
	// Login, if set, returns the user and password for the next connection to a server.
	// So a password can be changed while the process runs. nil means the user and
	// password of the URL.
	Login func() *url.Userinfo
	// Migrations is the schema that the binary knows; the zero value means the embedded
	// schema.
	Migrations migrations.Set
}

// LockWaitDefault is so short that a request gets an answer before its deadline. If a row
// is locked for longer, it is reported as busy.
const LockWaitDefault = time.Second

// MigrateWaitDefault is long enough for the lock of a killed process to expire, and for a
// long audit to end.
const MigrateWaitDefault = 2 * time.Minute

// WALPagesDefault is about 8 MiB.
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
	*steps.Book
	*hooks.Hooks
	ledger *ledger.Ledger
	money  moneyCache
	// overviews caches the overviews for pages that watch many pools.
	overviews overviewCache
	// claimed bounds the reads that follow claims, which could otherwise use up the
	// connections.
	claimed *semaphore.Weighted
	// hasUnreadable is the result of the last call of ReadWatched.
	hasUnreadable atomic.Bool
}

// Open opens the database that url names: sqlite:PATH, postgres://… or mysql://…. It
// connects, and fails if it cannot; it does not change the schema. Errors:
// CodeInvalidRequest for a URL that names no database, CodeStoreUnavailable if the
// database does not answer or, on SQLite, if another process has the file.
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
	if o.SealKeys == nil {
		o.SealKeys = &seal.Keeper{}
	}
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
		_ = e.Close() // the first error is the relevant one
		return nil, openError(err)
	}
	variant, err := recognize(ctx, e)
	if err != nil || variant != nil {
		if err = errors.Join(err, e.Close()); err != nil {
			return nil, openError(err)
		}
		return open(ctx, variant, rawURL, o)
	}
	keeper := schema.New(e, brought, o.MigrateWait, o.Log)
	l := ledger.New(ctx, e, ledger.Options{
		ReadOnly: o.ReadOnly, Changed: o.Changed, LeapMax: o.ClockLeap, Machine: o.Machine, Admits: keeper.Admits, Log: o.Log,
	})
	register := codes.New(l, o.SealKeys, o.Log)
	book := steps.New(l, register, o.Stepped)
	sent := hooks.New(l, book.ReadStepsAfter, o.SealKeys, register.SealingKey)
	return &Store{
		Register: register, Book: book, Hooks: sent,
		claimed: semaphore.NewWeighted(claimedMax),
		engine:  e, options: o, ledger: l, Keeper: keeper, Clock: l.Clock,
		Planner: agenda.New(l, o.Due), Auditor: audit.New(l, register.AuditCodes, book.AuditSteps, sent.AuditHooks), Rows: jobrows.New(l), Store: publiclog.New(l, o.Identities),
	}, nil
}

// engine returns the options for the engine.
func (o Options) engine() engine.Options {
	return engine.Options{
		LockWait: o.LockWait, ReadOnly: o.ReadOnly, AbsentIsEmpty: o.AbsentIsEmpty, WALPages: o.WALPages, Log: o.Log, Login: o.Login,
		Examine: func(ctx context.Context, path string) error {
			_, err := examine(ctx, path, o)
			return err
		},
	}
}

// CheckURL checks that rawURL names a known kind of database. It checks only the scheme.
// Error: CodeInvalidRequest.
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

// openError returns why a database could not be opened.
func openError(err error) error {
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the database cannot be opened")
}

// Close closes all connections. It returns the first error.
func (s *Store) Close() error { return s.engine.Close() }

// Dialect returns the name of the database's kind: "sqlite", "postgres", "mysql" or
// "tidb".
func (s *Store) Dialect() string { return s.engine.Name }

// Engine returns the open database, for the packages below this one.
func (s *Store) Engine() *engine.Engine { return s.engine }

// SharesSessions reports whether a proxy shares the server's sessions between its
// clients. Then no state of a session can be relied on: no advisory lock, no setting, no
// prepared statement.
func (s *Store) SharesSessions() bool { return s.engine.Pooling == engine.PooledByTransaction }

// LockDB returns the connections for external locks. On SQLite that is the only writer,
// so it must not be held while a draw is decided.
func (s *Store) LockDB() *sql.DB { return s.engine.Lock }

// WatchSchema checks the schema about once a second, and reads the database's clock about
// every ten seconds, until the store is closed. Call it once, before others use the
// store.
func (s *Store) WatchSchema() {
	s.Keeper.Watch()
	s.WatchClock()
}

// CheckWritable returns an error if the database did not accept the last write. It
// sends no query: see [Store.WatchWrites]. Error: CodeStoreUnavailable.
func (s *Store) CheckWritable() error { return s.ledger.CheckWritable() }

// WriteRefusal returns the reason why the database accepts no writes, one of
// [WriteRefusals]. It returns "" while the database accepts writes.
func (s *Store) WriteRefusal() string { return s.ledger.WriteRefusal() }

// WatchWrites tries a write about once a second while the database accepts none, until
// the store is closed. Call it once, before others use the store.
func (s *Store) WatchWrites() { s.ledger.WatchWrites() }

// LockStatements returns the statements of the locks in the database.
func (s *Store) LockStatements() locksql.Statements { return s.engine.Locks }

// Ping checks that the database answers. Error: CodeStoreUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.engine.Probe.PingContext(ctx); err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database does not answer")
	}
	return nil
}

// Connections counts the connections that draws use.
func (s *Store) Connections() engine.Connections { return s.engine.Connections() }
