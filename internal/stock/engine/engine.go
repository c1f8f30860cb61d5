package engine

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/periodic"
)

// Options are the options for opening a database.
type Options struct {
	// LockWait is the maximum time that a statement waits for a row lock.
	LockWait time.Duration
	// ReadOnly opens the database read-only.
	ReadOnly bool
	// AbsentIsEmpty makes ReadOnly read a file that does not exist, in an existing
	// folder, as an empty database.
	AbsentIsEmpty bool
	// WALPages is how many pages of 4 KiB the write-ahead log of a file collects before
	// they are copied to the file.
	WALPages int
	// Log gets the events that no caller receives as an error.
	Log *slog.Logger
	// Login, if set, returns the user and password of the next connection to a server,
	// nil for those of the URL.
	Login func() *url.Userinfo
	// Examine reads the whole database in the file at path, which may be a mixture of
	// two states, and returns its faults.
	Examine func(ctx context.Context, path string) error
}

// Engine is an open database of one kind. It is safe for concurrent use.
type Engine struct {
	*Dialect
	// Write is for statements that may write, and Read is for statements that do not. On
	// SQLite, Write is the single writer, and Read are the readers.
	Write, Read *sql.DB
	// ReadBack reads the result of a change, so that changes do not wait for other
	// reads. Probe is for the readiness check, which must not wait for other
	// connections.
	ReadBack, Probe *sql.DB
	// Lock is a separate pool of connections for external locks. So a draw that holds a
	// lock never waits for a connection of a draw that waits for a lock.
	Lock *sql.DB
	// Migrate is for the statements of migrations, which may take hours.
	Migrate  *sql.DB
	Attempts Attempts
	// Limits, if set, is a statement that bounds the transaction in which it runs.
	Limits string
	// Connections counts the connections that draws use.
	Connections func() Connections
	// FailOver closes the connections to a server that can no longer be written to, so
	// that new connections go to another server. It is nil for a file. Several means that
	// there is another server.
	FailOver func()
	Several  bool
	// Confirm waits until all data that could be read before the call is as safe as an
	// acknowledged commit. Its error is an *Error with its class. Confirm is nil if all
	// readable data is always that safe.
	Confirm func(ctx context.Context) error
	// Usable returns nil, or an *Error if the database must not be used any more. If
	// Usable is nil, the database may always be used.
	Usable func() error
	// Pooling states how a proxy in front of the server shares its sessions.
	Pooling Pooling

	closers []func() error
	// asking waits for the query of leaveIfSilent; isAsking is true while that query
	// runs.
	asking   sync.WaitGroup
	isAsking atomic.Bool
}

// Pooling states how a proxy shares the sessions of the server.
type Pooling string

const (
	// PooledNot means that each connection is a session of the server.
	PooledNot Pooling = ""
	// PooledBySession means that a connection keeps one session.
	PooledBySession Pooling = "session"
	// PooledByTransaction means that a proxy gives a connection any free session, for
	// one transaction. No state of a session can be relied on.
	PooledByTransaction Pooling = "transaction"
)

// OnClose makes Close call fn, before the functions that were added earlier.
func (e *Engine) OnClose(fn func() error) { e.closers = append(e.closers, fn) }

// WhileOpen calls the function do at once, and then about once per interval until Close.
func (e *Engine) WhileOpen(every time.Duration, do func(ctx context.Context)) {
	stop := periodic.Start(every, do)
	e.OnClose(func() error { stop(); return nil })
}

// Close closes all connections. It returns the first error.
func (e *Engine) Close() error {
	e.asking.Wait()
	var first error
	for i := len(e.closers) - 1; i >= 0; i-- {
		if err := e.closers[i](); err != nil && first == nil {
			first = err
		}
	}
	e.closers = nil
	return first
}

// Refusal returns nil, or an *Error if the database must not be used any more.
func (e *Engine) Refusal() error {
	if e.Usable == nil {
		return nil
	}
	return e.Usable()
}

// Observe closes connections if err means that another server must be written to, or that
// one of several servers has become silent. Otherwise the other connections to a silent
// server would fail one after another, each after the maximum time of a batch. One slow
// statement does not mean that a server is silent, so Observe queries it first.
func (e *Engine) Observe(err error) {
	said, ok := errors.AsType[*Error](err)
	switch {
	case !ok || e.FailOver == nil:
	case said.IsElsewhere():
		e.FailOver()
	case e.Several && errors.Is(said, context.DeadlineExceeded):
		e.leaveIfSilent()
	}
}

// silenceMax bounds the query to a server that seems silent.
const silenceMax = time.Second

// leaveIfSilent queries the server, and closes its connections if it does not answer. The
// query runs in the background, and only one at a time.
func (e *Engine) leaveIfSilent() {
	if !e.isAsking.CompareAndSwap(false, true) {
		return
	}
	e.asking.Go(func() {
		defer e.isAsking.Store(false)
		ctx, end := context.WithTimeout(context.Background(), silenceMax)
		defer end()
		var one int
		if e.Probe.QueryRowContext(ctx, `SELECT 1`).Scan(&one) != nil {
			e.FailOver()
		}
	})
}

// Connections are the figures of one pool of connections.
type Connections struct {
	// Open is the number of connections, InUse is the number in use, and Max is the
	// maximum.
	Open, InUse, Max int
	// Waited is the total time that callers have waited for a free connection since the
	// start.
	Waited time.Duration
}

// CountConnections returns a function that counts the connections of a pool.
func CountConnections(db *sql.DB) func() Connections {
	return func() Connections {
		stats := db.Stats()
		return Connections{stats.OpenConnections, stats.InUse, stats.MaxOpenConnections, stats.WaitDuration}
	}
}
