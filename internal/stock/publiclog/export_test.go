package publiclog

import (
	"context"
	"database/sql"
	"math"

	"drawsvc/internal/proof"
)

// ReadTwice reads the public log of a pool to its end, calls the function between, and
// then continues the read.
func (s *Store) ReadTwice(ctx context.Context, poolID string, between func()) (size int64, err error) {
	log := s.publicLog(poolID, proof.NewSalts())
	if err := log.upTo(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	between()
	err = log.upTo(ctx, math.MaxInt64)
	return log.tree.Size(), err
}

// ReadWhile reads the public log of a pool to its end, and calls the function meanwhile
// after it has read some lines. stood means that the pool did not change, so that it may
// be committed to this log.
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

// ErrRewritten means that the read of a log could not continue.
var ErrRewritten = errRewritten
