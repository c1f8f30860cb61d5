package stock

import (
	"context"
	"math"

	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// OpenDialect is Open for a database that the registry does not have.
func OpenDialect(ctx context.Context, d *engine.Dialect, rawURL string, o Options) (*Store, error) {
	return open(ctx, d, rawURL, o.withDefaults())
}

// DialectOf is a database of the registry.
func DialectOf(name string) *engine.Dialect { return dialects()[name] }

// ReadTwice reads the public log of a pool to its end, and on once more behind
// between.
func (s *Store) ReadTwice(ctx context.Context, poolID string, between func()) (size int64, err error) {
	log := s.publicLog(poolID, proof.NewSalts())
	if err := log.upTo(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	between()
	err = log.upTo(ctx, math.MaxInt64)
	return log.tree.Size(), err
}

// ErrRewritten says that a log was not read on.
var ErrRewritten = errRewritten
