package publiclog

import (
	"context"
	"database/sql"
	"math"

	"drawsvc/internal/proof"
)

// ReadTwice reads the public log of a pool to its end, and continues once more after
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

// ReadWhile reads the public log of a pool to its end, and calls a function after it
// has read some lines. stood means that the log did not change and may be committed to.
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

// ErrRewritten means that reading a log could not be continued.
var ErrRewritten = errRewritten
