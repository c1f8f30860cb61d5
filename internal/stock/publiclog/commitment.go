package publiclog

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/ledger"
)

// Committed describes a pool's commitment and what has become of it.
type Committed struct {
	// Version is the version of the commitment's entry.
	Version int64
	*proof.Commitment
	// Published holds the short published files, and only the last checkpoint.
	Published
	// Opened is the round of the pool's last opening. It is zero before the first opening
	// and without a beacon.
	Opened draw.Round
	// Receipts means that every draw of the pool returns a receipt.
	Receipts bool
	// SaltsErased means that the secret of the log's tags was destroyed.
	SaltsErased bool
	// SeedsAway means that this process cannot unseal the pool's seed.
	SeedsAway bool
}

// Commitment returns a pool's commitment. Errors: CodePoolNotFound, CodeNotFound for a
// pool whose numbers are secret, and those of the store.
func (s *Store) Commitment(ctx context.Context, poolID string) (of Committed, err error) {
	var c *committed
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		if c, err = s.committed(ctx, tx, poolID); err != nil {
			return err
		}
		if of.Published, err = s.published(ctx, tx, poolID, c, 1); err != nil {
			return err
		}
		if of.Receipts, err = s.givesReceipts(ctx, tx, poolID, c); err != nil {
			return err
		}
		opened, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("pools", "opened").Where(squirrel.Eq{"id": poolID}), ledger.ScanInt)
		if err != nil || opened[0] == 0 {
			return err
		}
		body, err := s.openedWith(ctx, tx, poolID, opened[0])
		of.Opened = body.round()
		return err
	})
	if err != nil {
		return Committed{}, err
	}
	of.Version, of.SaltsErased = c.version, len(c.sealed.Salts) == 0
	if of.Commitment, err = c.commitment(); err != nil {
		return Committed{}, err
	}
	if s.unsealed.find(poolID, c.note).numbers == nil {
		_, err = c.numbers(s.identities.Load())
		of.SeedsAway = err != nil
	}
	return of, nil
}
