package stock

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Reserves holds the numbers of codes that an instance watches.
type Reserves struct {
	// Codes is the number of codes without a unit, in all open pools.
	Codes int64
	// Low is the number of prizes in open pools whose reserve is below the warning level
	// of the rules.
	Low int
}

// ReadReserves reads the numbers of codes that the metrics show, from one snapshot.
// Errors: those of the store.
func (s *Store) ReadReserves(ctx context.Context) (r Reserves, err error) {
	if s.engine.Lacks(engine.PartCodes) {
		return r, nil
	}
	query := s.ledger.SelectFrom("code_heads AS h JOIN prizes AS p ON p.pool_id = h.pool_id AND p.id = h.prize_id JOIN pools ON pools.id = h.pool_id",
		"h.pool_id", "h.prize_id", "h.places - p.stocked").Where(squirrel.Eq{"pools.state": string(draw.StateOpen)})
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		r = Reserves{}
		reserves := map[string]map[string]int64{}
		_, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (struct{}, error) {
			var pool, prize string
			var reserve int64
			err := row.Scan(&pool, &prize, &reserve)
			if reserves[pool] == nil {
				reserves[pool] = map[string]int64{}
			}
			reserves[pool][prize] = reserve
			r.Codes += reserve
			return struct{}{}, err
		})
		if err != nil || len(reserves) == 0 {
			return err
		}
		rulings, err := s.rulesInForce(ctx, tx, draw.StateOpen)
		for _, ruling := range rulings {
			if ruling.Rules.Unreadable() != nil {
				continue
			}
			for _, l := range ruling.Rules.Low {
				if reserve, hasCodes := reserves[ruling.PoolID][l.PrizeID]; hasCodes && reserve < l.Below {
					r.Low++
				}
			}
		}
		return err
	})
	return r, err
}

// ResealCodes seals the secrets of hooks and all codes again, under the first key of the
// key file; see [codes.Register.ResealCodes]. Errors: CodeSealKeyMissing, and those of
// the store.
func (s *Store) ResealCodes(ctx context.Context, progress func(done int64)) (done int64, err error) {
	if err := s.ResealHooks(ctx); err != nil {
		return 0, err
	}
	return s.Register.ResealCodes(ctx, progress)
}
