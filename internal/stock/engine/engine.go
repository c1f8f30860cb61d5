package engine

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/periodic"
)

// Options say how a database is opened.
type Options struct {
	// LockWait is the longest that a statement waits for a row lock.
	LockWait time.Duration
	// ReadOnly opens the database for reading alone.
	ReadOnly bool
	// AbsentIsEmpty has ReadOnly read a file that is not there, in a folder that is,
	// as an empty database.
	AbsentIsEmpty bool
	// WALPages is how many pages of 4 KiB the write-ahead log of a file gathers
	// before they are copied into the file.
	WALPages int
	// Log takes what has no caller to hear it.
	Log *slog.Logger
	// Examine reads all of the database in the file at path, which may be a
	// mixture of two states, and returns what is wrong with it.
	Examine func(ctx context.Context, path string) error
}

// Engine is an open database of one kind. It is safe for concurrent use.
type Engine struct {
	*Dialect
	// Write takes statements that may write, Read those that do not. On SQLite
	// they are the single writer and the readers.
	Write, Read *sql.DB
	// ReadBack reads what a change has made, so that changes wait for no other
	// reads. Probe is for the check of readiness, which waits for nobody.
	ReadBack, Probe *sql.DB
	// Lock is a pool of connections of its own for external locks, so that
	// draws that hold a lock never wait for connections held by others that
	// wait for locks.
	Lock *sql.DB
	// Migrate takes the statements of migrations, which may last for hours.
	Migrate  *sql.DB
	Attempts Attempts
	// Limits, where set, is a statement that bounds the transaction it is in.
	Limits string
	// Connections counts those that draws use.
	Connections func() Connections
	// FailOver closes the connections to a server that can no longer be written,
	// so that the next ones are made to another; nil for a file. Several says
	// that there is another.
	FailOver func()
	Several  bool
	// Confirm returns when everything that could be read before is as safe as
	// what is acknowledged, or an *Error with its class; nil where that is so at
	// once.
	Confirm func(ctx context.Context) error
	// Usable returns nil, or an *Error when the database must not be used any
	// more; nil where it always may.
	Usable func() error
	// Pooling is how a proxy before the server shares its sessions.
	Pooling Pooling

	closers []func() error
	// asking is the question of leaveIfSilent, isAsking says that it is under way.
	asking   sync.WaitGroup
	isAsking atomic.Bool
}

// Attempts are made at batches in the way of the database.
type Attempts interface {
	// Read, Resume and Write implement those of stock.Store.
	Read(ctx context.Context, urn *urn.Urn, o TxOptions) (Tx, error)
	Resume(ctx context.Context, o TxOptions) (Tx, error)
	Write(ctx context.Context, p *urn.Plan, o TxOptions) error
}

// Pooling is how a proxy in between hands out the sessions of the server.
type Pooling string

const (
	// PooledNot says that each connection is a session of the server.
	PooledNot Pooling = ""
	// PooledBySession says that a connection has one session for as long as it lasts.
	PooledBySession Pooling = "session"
	// PooledByTransaction says that a connection has whatever session is free,
	// for one transaction. Nothing that belongs to a session can be relied on.
	PooledByTransaction Pooling = "transaction"
)

// OnClose has fn called by Close, before those that were given earlier.
func (e *Engine) OnClose(fn func() error) { e.closers = append(e.closers, fn) }

// WhileOpen calls do at once and about every so often until Close.
func (e *Engine) WhileOpen(every time.Duration, do func(ctx context.Context)) {
	stop := periodic.Start(every, do)
	e.OnClose(func() error { stop(); return nil })
}

// Close closes all connections. It returns the first error of closing.
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

// Refusal returns nil, or an *Error when the database must not be used any more.
func (e *Engine) Refusal() error {
	if e.Usable == nil {
		return nil
	}
	return e.Usable()
}

// Observe leaves a server that says that another is to be written, and one of
// several that has fallen silent: its other connections would be found dead one
// after the other, each at the end of a batch's time. One statement that took too
// long is no silence: the server is asked first.
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

// silenceMax is the longest that a server may take to answer when it seems silent.
const silenceMax = time.Second

// leaveIfSilent asks the server, and leaves it where it does not answer. Nobody waits
// for that, and one question is under way at a time.
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

// Connections are the counts of a pool of connections.
type Connections struct {
	// Open are there, InUse of them at work; Max are allowed.
	Open, InUse, Max int
	// Waited is how long callers have waited for one that was free, all
	// together, since the start.
	Waited time.Duration
}

// CountConnections counts those of a pool of database/sql.
func CountConnections(db *sql.DB) func() Connections {
	return func() Connections {
		stats := db.Stats()
		return Connections{stats.OpenConnections, stats.InUse, stats.MaxOpenConnections, stats.WaitDuration}
	}
}
