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
	// repeatMax and repeatWait bound the repeats of a transaction that met a
	// draw, another change, or a connection that was dead already.
	repeatMax  = 8
	deadMax    = 2
	repeatWait = 10 * time.Millisecond
	// agendaRunsMax bounds how often a change meets items that come before it. One run
	// does at least itemsPerRun, where there are as many.
	agendaRunsMax = 1 + draw.OpenItemsMax/ItemsPerRun
)

// ItemsPerRun is how many items of an agenda one transaction does.
const ItemsPerRun = 1000

// Change runs fn in a transaction and commits it; what others were first at is
// run again in a new one. Its errors are *draw.Error.
func (l *Ledger) Change(ctx context.Context, fn func(*sql.Tx) error) error {
	return engine.Public(Repeated(ctx, func() error {
		err := l.afterAgenda(ctx, fn)
		l.Observe(err) // now that the connection is given back
		return err
	}))
}

// afterAgenda is Once, after what the agenda of the pool has before it.
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

// Repeated calls try again as long as it says that nothing was written and
// that another try may fare better.
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

// Once runs fn in a transaction and commits it. Its errors have classes, as those of a
// draw have.
func (l *Ledger) Once(ctx context.Context, fn func(*sql.Tx) error) error {
	if l.ReadOnly {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database was opened for reading alone")
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
	if l.Engine.Limits != "" {
		_, err = tx.ExecContext(ctx, l.Engine.Limits)
	}
	if err == nil { // else what is absent may be elsewhere, and what is written be lost
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

// commit commits a change: it waits for all that the commit of a draw waits
// for.
func (l *Ledger) commit(conn *sql.Conn, tx *sql.Tx) error {
	//double:heedless l.Engine.Commit == nil => true
	if l.Engine.Commit == nil {
		return tx.Commit()
	}
	return l.Engine.Commit(conn, tx)
}

// Snapshot runs fn in a transaction that reads one state of the database. fn
// may be run again. Its errors are *draw.Error.
func (l *Ledger) Snapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	return l.SnapshotOn(ctx, l.Engine.Read, fn)
}

// SnapshotOn is Snapshot on given connections.
func (l *Ledger) SnapshotOn(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	return l.snapshotBy(ctx, db, func(_ *sql.Conn, tx *sql.Tx) error { return fn(tx) })
}

// snapshotBy is SnapshotOn with the connection of the transaction.
func (l *Ledger) snapshotBy(ctx context.Context, db *sql.DB, fn func(*sql.Conn, *sql.Tx) error) error {
	return engine.PublicRead(l.Classed(ctx, db, fn))
}

// Classed is snapshotBy for what a draw reads: errors of the database are *Error,
// as whoever decides the draw says what became of it.
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
