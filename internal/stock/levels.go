package stock

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Levels returns the counts of every open pool, the newest pools first, from
// one snapshot. Endless blanks count for nothing. It reads each prize of an open
// pool once. Errors: those of the store.
func (s *Store) Levels(ctx context.Context) (levels []draw.Level, err error) {
	open := squirrel.Eq{"state": string(draw.StateOpen)}
	pools := s.ledger.SelectFrom("pools", "id").Where(open).OrderBy("created_at DESC", "id")
	// The inner query has no parameters of its own dialect: it is a part of the
	// outer one.
	sums := s.ledger.SelectFrom("prizes", "pool_id", "SUM(stocked)", "SUM(issued)").
		Where(squirrel.Select("1").Prefix("EXISTS (").From("pools").Where("pools.id = prizes.pool_id").Where(open).Suffix(")")).
		Where(squirrel.Or{squirrel.NotEq{"kind": string(draw.KindBlank)}, squirrel.NotEq{"stocked": int64(draw.EndlessStock)}}).
		GroupBy("pool_id")
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		levels, err = ledger.SelectAll(ctx, tx, pools, func(row engine.Scanner) (l draw.Level, err error) {
			err = row.Scan(&l.PoolID)
			return l, err
		})
		if err != nil {
			return err
		}
		at := make(map[string]*draw.Level, len(levels))
		for i := range levels {
			at[levels[i].PoolID] = &levels[i]
		}
		_, err = ledger.SelectAll(ctx, tx, sums, func(row engine.Scanner) (struct{}, error) {
			var poolID string
			var stocked, issued decimal.Decimal // sums of integers are decimals to some databases
			err := row.Scan(&poolID, &stocked, &issued)
			if l := at[poolID]; l != nil {
				l.Stocked, l.Issued = stocked.IntPart(), issued.IntPart()
			}
			return struct{}{}, err
		})
		return err
	})
	return levels, err
}
