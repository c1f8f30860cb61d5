package stock

import (
	"context"

	"drawsvc/internal/stock/engine"
)

// OpenDialect is Open for a database that the registry does not have.
func OpenDialect(ctx context.Context, d *engine.Dialect, rawURL string, o Options) (*Store, error) {
	return open(ctx, d, rawURL, o.withDefaults())
}

// DialectOf returns a database of the registry.
func DialectOf(name string) *engine.Dialect { return dialects()[name] }

// RowsOf runs fn to read rows of a pool as a publisher does.
func (s *Store) RowsOf(ctx context.Context, poolID string, fn func(q engine.Querier) error) error {
	return s.ledger.RowsOf(ctx, poolID, func(q engine.Querier, _ int64) error { return fn(q) })
}
