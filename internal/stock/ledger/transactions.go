package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

const (
	// repeatMax and repeatWait bound the retries of a transaction that conflicted with a
	// draw or another change. deadMax is for connections that were already closed.
	repeatMax  = 8
	deadMax    = 2
	repeatWait = 10 * time.Millisecond
	// agendaRunsMax bounds how often a change carries out the due items before it. One
	// run carries out at least ItemsPerRun items, if that many are due.
	agendaRunsMax = 1 + draw.OpenItemsMax/ItemsPerRun
)

// ItemsPerRun is how many items of an agenda one transaction carries out.
const ItemsPerRun = 1000

// Change runs fn in a transaction and commits it; after a conflict it runs fn again in
// a new transaction. Its errors are *draw.Error.
func (l *Ledger) Change(ctx context.Context, fn func(*sql.Tx) error) error {
	return engine.Public(Repeated(ctx, func() error {
		err := l.afterAgenda(ctx, fn)
		l.Observe(err) // after the connection was returned
		return err
	}))
}

// afterAgenda is Once, but carries out the due items of the agenda if fn must come after
// them.
func (l *Ledger) afterAgenda(ctx context.Context, fn func(*sql.Tx) error) error {
	for range agendaRunsMax {
		err := l.Once(ctx, fn)
		due, isDue := errors.AsType[*poolDue](err)
		if !isDue {
			return err
		}
		if err := l.Agenda.Run(ctx, due.poolID); err != nil {
			return err
		}
	}
	return engine.ErrConflict
}

// Repeated calls the function try. It calls try again while the error means that nothing
// was written and that a retry may succeed.
func Repeated(ctx context.Context, try func() error) error {
	for n, dead := 1, 0; ; n++ {
		err := try()
		class := engine.ClassOf(err)
		if class == engine.ClassUnavailable {
			dead++
		}
		if class != engine.ClassConflict && class != engine.ClassUnavailable || n == repeatMax || dead > deadMax {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(repeatWait << n)):
		}
	}
}

// Once runs fn in a transaction and commits it. Its errors have the same classes as those
// of a draw.
func (l *Ledger) Once(ctx context.Context, fn func(*sql.Tx) error) error {
	if l.ReadOnly {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database is opened read-only")
	}
	if err := cmp.Or(l.Engine.Refusal(), l.Admits()); err != nil {
		return err
	}
	conn, err := l.Engine.Write.Conn(ctx)
	if err != nil {
		return engine.Classify(err, l.Engine.ByCode)
	}
	defer conn.Close() //nolint:errcheck // it goes back to its pool
	tx, err := conn.BeginTx(ctx, &l.Engine.Change)
	if err != nil {
		return engine.Classify(err, l.Engine.ByCode)
	}
	defer func() { // an open transaction would keep the connection until ctx ends
		if p := recover(); p != nil {
			_ = tx.Rollback()
			panic(p)
		}
	}()
	if l.Engine.Limits != "" {
		_, err = tx.ExecContext(ctx, l.Engine.Limits)
	}
	if err == nil { // otherwise another server may have a row that is absent here, or a written row may be lost
		err = engine.CheckWritable(ctx, tx, l.Engine.Dialect)
	}
	if err == nil {
		err = fn(tx)
	}
	if err != nil {
		_ = tx.Rollback() // an error means that the connection is lost, and the changes with it
		return engine.Classify(err, l.Engine.ByCode)
	}
	if err := l.commit(conn, tx); err != nil {
		return engine.AtCommit(err, l.Engine.ByCode)
	}
	return nil
}

// commit commits a change. It waits for everything that a draw's commit waits for.
func (l *Ledger) commit(conn *sql.Conn, tx *sql.Tx) error {
	//double:heedless l.Engine.Commit == nil => true
	if l.Engine.Commit == nil {
		return tx.Commit()
	}
	return l.Engine.Commit(conn, tx)
}

// Snapshot runs fn in a transaction that reads one state of the database. fn may be run
// more than once. Its errors are *draw.Error.
func (l *Ledger) Snapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	return l.SnapshotOn(ctx, l.Engine.Read, fn)
}

// SnapshotOn is Snapshot on connections of db.
func (l *Ledger) SnapshotOn(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	return l.snapshotBy(ctx, db, func(_ *sql.Conn, tx *sql.Tx) error { return fn(tx) })
}

// snapshotBy is SnapshotOn, and also gives fn the transaction's connection.
func (l *Ledger) snapshotBy(ctx context.Context, db *sql.DB, fn func(*sql.Conn, *sql.Tx) error) error {
	return engine.PublicRead(l.Classed(ctx, db, fn))
}

// Classed is snapshotBy for the reads of a draw. The database's errors stay
// *engine.Error, because the mode that decides the draw handles them.
func (l *Ledger) Classed(ctx context.Context, db *sql.DB, fn func(*sql.Conn, *sql.Tx) error) error {
	return Repeated(ctx, func() error {
		if err := l.Engine.Refusal(); err != nil {
			return err
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			return engine.Classify(err, l.Engine.ByCode)
		}
		defer conn.Close() //nolint:errcheck // it goes back to its pool
		tx, err := conn.BeginTx(ctx, &l.Engine.Snapshot)
		if err != nil {
			return engine.Classify(err, l.Engine.ByCode)
		}
		defer func() { _ = tx.Rollback() }() // nothing was written
		return engine.Classify(fn(conn, tx), l.Engine.ByCode)
	})
}

// ReadBack runs fn on the server that takes the writes, without a transaction. Each
// statement sees one state of the database. fn may be run more than once. Its errors are
// *draw.Error.
func (l *Ledger) ReadBack(ctx context.Context, fn func(engine.Querier) error) error {
	return engine.PublicRead(Repeated(ctx, func() error {
		if err := l.Engine.Refusal(); err != nil {
			return err
		}
		conn, err := l.Engine.ReadBack.Conn(ctx)
		if err != nil {
			return engine.Classify(err, l.Engine.ByCode)
		}
		defer conn.Close() //nolint:errcheck // it goes back to its pool
		return engine.Classify(fn(l.Engine.ByDriver(conn, conn)), l.Engine.ByCode)
	}))
}
