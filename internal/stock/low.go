package stock

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// LowPrizes returns the prizes of open pools of which fewer units remain than
// the rules in force want to be warned of, ordered by pool and prize, from one
// snapshot. It reads the prizes of those pools alone whose rules name some.
// Errors: those of the store.
func (s *Store) LowPrizes(ctx context.Context) (low []draw.LowPrize, err error) {
	inForce := s.selectFrom(s.changes.Table+" AS c JOIN pools AS p ON p.id = c.pool_id AND p.rules = c.version", "c.pool_id", s.changes.Read("c.")).
		Where(squirrel.Eq{"p.state": string(draw.StateOpen)}).OrderBy("c.pool_id")
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		low = nil
		changes, err := selectAll(ctx, tx, inForce, func(row engine.Scanner) (c draw.Change, err error) {
			err = row.Scan(append([]any{&c.PoolID}, s.changes.Fields(&c)...)...)
			return c, err
		})
		if err != nil {
			return err
		}
		for i := range changes {
			r, err := rulingOf(&changes[i])
			if err != nil {
				return err
			}
			if r.Rules == nil || len(r.Rules.Low) == 0 {
				continue
			}
			prizes, err := s.prizes(ctx, tx, r.PoolID)
			if err != nil {
				return err
			}
			low = append(low, r.Rules.LowOf(r.PoolID, prizes)...)
		}
		return nil
	})
	return low, err
}
