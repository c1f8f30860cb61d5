package stock

import (
	"context"
	"database/sql"

	"drawsvc/internal/draw"
)

// LowPrizes returns the prizes of open pools of which fewer units remain than
// the rules in force want to be warned of, ordered by pool and prize, from one
// snapshot. It reads the prizes of those pools alone whose rules name some.
// Errors: those of the store.
func (s *Store) LowPrizes(ctx context.Context) (low []draw.LowPrize, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		rulings, err := s.rulesInForce(ctx, tx, draw.StateOpen)
		if err != nil {
			return err
		}
		low = nil
		for _, r := range rulings {
			if len(r.Rules.Low) == 0 {
				continue
			}
			prizes, err := s.ledger.Prizes(ctx, tx, r.PoolID)
			if err != nil {
				return err
			}
			low = append(low, r.Rules.LowOf(r.PoolID, prizes)...)
		}
		return nil
	})
	return low, err
}
