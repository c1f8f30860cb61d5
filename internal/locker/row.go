package locker

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"drawsvc/internal/locker/locksql"
)

// row locks a row FOR UPDATE, in a separate transaction on a pinned connection. The
// server queues the waiters, and frees the row when the holder's connection ends. It also
// ends a connection that is silent for the length of a lease, so that a paused holder
// cannot keep the row. The token is counted outside that transaction, which is rolled
// back if its holder dies.
//
// On a Galera cluster the row is locked on only one node.
type row struct {
	board *pinboard
	sql   *locksql.Row
}

func openRow(_ string, o Options) (backend, error) {
	s, err := findStatements("row", o, func(s locksql.Statements) *locksql.Row { return s.Row })
	if err != nil {
		return nil, err
	}
	board, err := newPinboard("row", o, s.Pinned)
	if err != nil {
		return nil, err
	}
	return &row{board: board, sql: s}, nil
}

func (r *row) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	l, err := r.lock(ctx, key, until)
	if !errors.Is(err, sql.ErrNoRows) {
		return l, err
	}
	if err := r.seed(ctx, key); err != nil {
		return nil, err
	}
	return r.lock(ctx, key, until)
}

// lock locks the row, which must exist. Otherwise it fails with sql.ErrNoRows.
func (r *row) lock(ctx context.Context, key string, until time.Time) (*lease, error) {
	p, err := r.board.pin(ctx, until)
	if err != nil {
		return nil, err
	}
	query := r.sql.Wait
	if time.Until(until) <= 0 {
		query = r.sql.Try
	}
	since := time.Now()
	err = p.wait(ctx, until, func(ctx context.Context) error { return p.QueryRowContext(ctx, query, key).Scan(new(int)) })
	if err != nil {
		return nil, err
	}
	token, err := r.board.token(ctx, key)
	if err != nil {
		_ = p.back(ctx)
		return nil, err
	}
	return &lease{
		token: token,
		since: since,
		renew: func(ctx context.Context) error {
			// The transaction ends exactly when its connection does.
			if err := p.QueryRowContext(ctx, `SELECT 1`).Scan(new(int)); err != nil {
				return errors.Join(errLost, err)
			}
			return nil
		},
		release: p.back,
	}, nil
}

func (r *row) seed(ctx context.Context, key string) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	return retryStale(ctx, func() error {
		_, err := r.board.db.ExecContext(ctx, r.sql.Seed, key)
		return err
	})
}

func (r *row) ping(ctx context.Context) error { return pingDB(ctx, r.board.db) }

func (r *row) close() error { return nil }
