package stock

import (
	"context"

	"drawsvc/internal/stock/engine"
)

// OpenDialect is Open for a database that the registry does not have.
func OpenDialect(ctx context.Context, d *engine.Dialect, rawURL string, o Options) (*Store, error) {
	return open(ctx, d, rawURL, o.withDefaults())
}

// DialectOf is a database of the registry.
func DialectOf(name string) *engine.Dialect { return dialects()[name] }
