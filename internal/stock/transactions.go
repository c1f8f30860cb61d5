package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

const (
	// repeatMax and repeatWait bound the repeats of a transaction that met a
	// draw, another change, or a connection that was dead already.
	repeatMax  = 8
	deadMax    = 2
	repeatWait = 10 * time.Millisecond
)

// change runs fn in a transaction and commits it; what others were first at is
// run again in a new one. Its errors are *draw.Error.
func (s *Store) change(ctx context.Context, fn func(*sql.Tx) error) error {
	return engine.Public(repeated(ctx, func() error {
		err := s.behindAgenda(ctx, fn)
		s.observe(err) // now that the connection is given back
		return err
	}))
}

// behindAgenda is once, behind what the agenda of the pool has before it.
func (s *Store) behindAgenda(ctx context.Context, fn func(*sql.Tx) error) error {
	for range duesMax {
		err := s.once(ctx, fn)
		due, isDue := errors.AsType[*poolDue](err)
		if !isDue {
			return err
		}
		if _, err := s.runDue(ctx, due.poolID); err != nil && !isUnreadable(err) {
			return err
		}
	}
	return ErrConflict
}

// repeated calls try again as long as it says that nothing was written and
// that another try may fare better.
func repeated(ctx context.Context, try func() error) error {
	for n, dead := 1, 0; ; n++ {
		err := try()
		class := ClassOf(err)
		if class == ClassUnavailable {
			dead++
		}
		if class != ClassConflict && class != ClassUnavailable || n == repeatMax || dead > deadMax {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(repeatWait << n)):
		}
	}
}

func (s *Store) once(ctx context.Context, fn func(*sql.Tx) error) error {
	if s.options.ReadOnly {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database was opened for reading alone")
	}
	if err := cmp.Or(s.engine.Refusal(), s.Admits()); err != nil {
		return err
	}
	conn, err := s.engine.Write.Conn(ctx)
	if err != nil {
		return engine.Classify(err, s.engine.ByCode)
	}
	defer conn.Close() //nolint:errcheck // it goes back to its pool
	tx, err := conn.BeginTx(ctx, &s.engine.Change)
	if err != nil {
		return engine.Classify(err, s.engine.ByCode)
	}
	if s.engine.Limits != "" {
		_, err = tx.ExecContext(ctx, s.engine.Limits)
	}
	if err == nil { // else what is absent may be elsewhere, and what is written be lost
		err = engine.CheckWritable(ctx, tx, s.engine.Dialect)
	}
	if err == nil {
		err = fn(tx)
	}
	if err != nil {
		_ = tx.Rollback() // an error means that the connection is lost, and the changes with it
		return engine.Classify(err, s.engine.ByCode)
	}
	if err := s.commit(conn, tx); err != nil {
		return engine.AtCommit(err, s.engine.ByCode)
	}
	return nil
}

// commit commits a change: it waits for all that the commit of a draw waits
// for.
func (s *Store) commit(conn *sql.Conn, tx *sql.Tx) error {
	if s.engine.Commit == nil {
		return tx.Commit()
	}
	return s.engine.Commit(conn, tx)
}

// snapshot runs fn in a transaction that reads one state of the database. fn
// may be run again. Its errors are *draw.Error.
func (s *Store) snapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	return s.snapshotOn(ctx, s.engine.Read, fn)
}

// snapshotOn is snapshot on given connections.
func (s *Store) snapshotOn(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	return s.snapshotBy(ctx, db, func(_ *sql.Conn, tx *sql.Tx) error { return fn(tx) })
}

// snapshotBy is snapshotOn with the connection of the transaction.
func (s *Store) snapshotBy(ctx context.Context, db *sql.DB, fn func(*sql.Conn, *sql.Tx) error) error {
	return engine.PublicRead(s.classedBy(ctx, db, fn))
}

// classedBy is snapshotBy for what a draw reads: errors of the database are *Error,
// as whoever decides the draw says what became of it.
func (s *Store) classedBy(ctx context.Context, db *sql.DB, fn func(*sql.Conn, *sql.Tx) error) error {
	return repeated(ctx, func() error {
		if err := s.engine.Refusal(); err != nil {
			return err
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			return engine.Classify(err, s.engine.ByCode)
		}
		defer conn.Close() //nolint:errcheck // it goes back to its pool
		tx, err := conn.BeginTx(ctx, &s.engine.Snapshot)
		if err != nil {
			return engine.Classify(err, s.engine.ByCode)
		}
		defer func() { _ = tx.Rollback() }() // nothing was written
		return engine.Classify(fn(conn, tx), s.engine.ByCode)
	})
}

func (s *Store) isDuplicate(err error) bool {
	return err != nil && ClassOf(engine.Classify(err, s.engine.ByCode)) == ClassKnownKey
}

func (s *Store) builder() squirrel.StatementBuilderType {
	return squirrel.StatementBuilder.PlaceholderFormat(s.engine.Placeholder)
}

func (s *Store) selectFrom(table string, columns ...string) squirrel.SelectBuilder {
	return s.builder().Select(columns...).From(table)
}

func (s *Store) insertInto(table string) squirrel.InsertBuilder { return s.builder().Insert(table) }

// appendTo appends entries to one of a pool's logs.
func appendTo[T any](ctx context.Context, tx *sql.Tx, d *engine.Dialect, log engine.Log[T], poolID string, at any, entries []T) error {
	s := log.Append(poolID, at, entries)
	text, err := d.Placeholder.ReplacePlaceholders(s.SQL)
	if err == nil {
		_, err = tx.ExecContext(ctx, text, s.Args...)
	}
	return err
}

// selectAll collects the rows of a query that was built.
func selectAll[T any](ctx context.Context, q engine.Querier, query squirrel.SelectBuilder, scan func(engine.Scanner) (T, error)) ([]T, error) {
	text, args, err := query.ToSql()
	if err != nil {
		return nil, err
	}
	return engine.QueryAll(ctx, q, scan, text, args...)
}
