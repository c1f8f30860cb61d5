package locker

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"sync"
	"time"

	"drawsvc/internal/locker/locksql"
)

// table is a lease row in the service's own database, timed by that database's clock.
// Every statement commits by itself, and checks its preconditions in its WHERE clause. A
// lease is taken only if its row has expired, renewed only by its owner within its term,
// and released only by its owner. A free row remains, so that its tokens are never used
// again.
//
// Waiters in other processes poll for it.
type table struct {
	db  *sql.DB
	sql locksql.Table
	ttl time.Duration
	// late counts leases that are being freed after failed requests, which may have taken
	// them.
	late sync.WaitGroup
}

func openTable(_ string, o Options) (backend, error) {
	statements, err := findStatements("table", o, func(s locksql.Statements) *locksql.Table { return s.Table })
	if err != nil {
		return nil, err
	}
	return &table{db: o.Database.LockDB(), sql: *statements, ttl: o.TTL}, nil
}

// detachContext is like the function of that name, but with the limit of the table's
// statements.
func (t *table) detachContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(t.sql.Limit, opTimeout))
}

func (t *table) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	// Each hold has a new owner. So a lease whose response was lost can be distinguished
	// from every other lease.
	owner := rand.Text()
	p := pace{shortest: 2 * time.Millisecond, longest: 25 * time.Millisecond}
	seen := false
	return poll(ctx, until, p, nil, func(ctx context.Context) (*lease, time.Duration, error) {
		if seen {
			// The row is read first: an UPDATE without effect would still lock the row, which
			// another holder has.
			if left, err := t.readRest(ctx, key); err == nil && left > 0 {
				return nil, left, errBusy
			}
		}
		seen = true
		return t.try(ctx, key, owner)
	})
}

// try takes the row if it is free, and creates it if it does not exist.
func (t *table) try(ctx context.Context, key, owner string) (*lease, time.Duration, error) {
	for range 2 {
		l, err := t.take(ctx, key, owner)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return l, 0, err
		}
		left, err := t.readRest(ctx, key)
		if err == nil {
			return nil, max(left, 0), errBusy
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, 0, err
		}
		if err := t.exec(ctx, nil, t.sql.Seed, key); err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, errBusy
}

func (t *table) take(ctx context.Context, key, owner string) (*lease, error) {
	ctx, cancel := t.detachContext(ctx)
	defer cancel()
	var token int64
	var since time.Time
	err := retryStale(ctx, func() (err error) {
		if !since.IsZero() { // the previous attempt may have taken the lease, and lost the response
			_ = t.exec(ctx, nil, t.sql.Release, key, owner)
		}
		since = time.Now()
		token, err = changeRow(ctx, t.db, t.sql.ByInsertID, t.sql.Take, owner, t.ttl.Microseconds(), key)
		return err
	})
	if err != nil {
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case isClash(err):
			err = errBusy
		default:
			// The request may have taken the lock although it failed. The caller does not wait for
			// the release; if that fails, the term ends anyway.
			t.late.Go(func() { _ = t.exec(ctx, nil, t.sql.Release, key, owner) })
		}
		return nil, err
	}
	return &lease{
		token: token,
		since: since,
		renew: func(ctx context.Context) error {
			return t.exec(ctx, errLost, t.sql.Renew, t.ttl.Microseconds(), key, owner)
		},
		release: func(ctx context.Context) error { return t.exec(ctx, errLost, t.sql.Release, key, owner) },
	}, nil
}

// readRest returns the rest of the holder's term.
func (t *table) readRest(ctx context.Context, key string) (time.Duration, error) {
	ctx, cancel := t.detachContext(ctx)
	defer cancel()
	var left int64
	err := retryStale(ctx, func() error { return t.db.QueryRowContext(ctx, t.sql.Rest, key).Scan(&left) })
	return time.Duration(left) * time.Microsecond, err
}

// exec runs a statement that changes one row. If it changed no row, exec returns the
// error none.
func (t *table) exec(ctx context.Context, none error, query string, args ...any) error {
	ctx, cancel := t.detachContext(ctx)
	defer cancel()
	return retryStale(ctx, func() error {
		result, err := t.db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, none)
		}
		return nil
	})
}

func (t *table) ping(ctx context.Context) error { return pingDB(ctx, t.db) }

func (t *table) close() error {
	t.late.Wait()
	return nil
}
