package publiclog

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/ledger"
)

// Committed is what a pool is committed to, and how far its life has come.
type Committed struct {
	// Version is that of the commitment's entry.
	Version int64
	*proof.Commitment
	// Published are its short files, and of its checkpoints the last.
	Published
	// Opened is the round that the pool was opened with last, the zero round for
	// none or without a beacon.
	Opened draw.Round
	// Receipts says that every draw of the pool is answered with a receipt.
	Receipts bool
	// SaltsErased says that the secret of the log's tags was destroyed.
	SaltsErased bool
	// SeedsAway says that this process cannot unseal the seed.
	SeedsAway bool
}

// Commitment returns what a pool is committed to. Errors: CodePoolNotFound,
// CodeNotFound for a pool whose numbers are secret, and those of the store.
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
		_, err = c.numbers(s.identities)
		of.SeedsAway = err != nil
	}
	return of, nil
}
