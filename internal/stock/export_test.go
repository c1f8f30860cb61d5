package stock

import (
	"context"
	"database/sql"

	"drawsvc/internal/stock/engine"
)

// OpenDialect is Open for a database that is not in the registry.
func OpenDialect(ctx context.Context, d *engine.Dialect, rawURL string, o Options) (*Store, error) {
	return open(ctx, d, rawURL, o.withDefaults())
}

// DialectOf returns a database of the registry.
func DialectOf(name string) *engine.Dialect { return dialects()[name] }

// RowsOf runs fn to read rows of a pool in the way in which a publisher reads them.
func (s *Store) RowsOf(ctx context.Context, poolID string, fn func(q engine.Querier) error) error {
	return s.ledger.RowsOf(ctx, poolID, func(q engine.Querier, _ int64) error { return fn(q) })
}

// ExtendFeedSlowly makes one attempt of [Store.ExtendFeed], as an instance that is paused
// between its plan and its write.
func ExtendFeedSlowly(ctx context.Context, s *Store, stopped func()) error {
	return s.ledger.Once(ctx, func(tx *sql.Tx) error {
		n, moved, err := s.movedPools(ctx, tx)
		if err != nil {
			return err
		}
		stopped()
		return s.addSegments(ctx, tx, &n, moved)
	})
}
