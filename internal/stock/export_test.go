package stock

import (
	"context"
	"database/sql"
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

// ReadWhile reads the public log of a pool to its end, and has something happen
// when it has read some lines. stood says that the log may be committed to.
func (s *Store) ReadWhile(ctx context.Context, poolID string, salts proof.Salts, lines int64, meanwhile func()) (root [32]byte, stood bool, err error) {
	log := s.publicLog(poolID, salts)
	log.took = func([]byte) error {
		if log.tree.Size() == lines {
			meanwhile()
		}
		return nil
	}
	if err = log.upTo(ctx, math.MaxInt64); err != nil {
		return root, false, err
	}
	err = s.ledger.OfPool(ctx, poolID, func(_ *sql.Tx, version int64) error {
		stood = log.stood(version)
		return nil
	})
	return log.tree.Root(), stood, err
}

// RowsOf has fn read rows of a pool as a publisher does.
func (s *Store) RowsOf(ctx context.Context, poolID string, fn func(q engine.Querier) error) error {
	return s.ledger.RowsOf(ctx, poolID, func(q engine.Querier, _ int64) error { return fn(q) })
}

// ErrRewritten says that a log was not read on.
var ErrRewritten = errRewritten
