package stock

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Overviews returns at most limit pools that are not archived, in order of their ids,
// with their counts, from one snapshot. It leaves out the prizes of a pool that has more
// than prizesMax. It reads each prize of these pools once, and some twice. Errors: those
// of the store.
func (s *Store) Overviews(ctx context.Context, limit, prizesMax int) (all []draw.Overview, err error) {
	pools := s.ledger.SelectFrom("pools", "id", "name", "state", "COALESCE(mode, '')", "version", "revision", "rules", "committed", "due_at", "spent", "spent_from").
		Where(squirrel.Eq{"archived": false}).OrderBy("id").Limit(uint64(limit)) //nolint:gosec // the caller's constant
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		all, err = ledger.SelectAll(ctx, tx, pools, func(row engine.Scanner) (o draw.Overview, err error) {
			err = row.Scan(&o.ID, &o.Name, &o.State, &o.Mode, &o.Version, &o.Revision, &o.RulesVersion, &o.Committed, engine.ScanTime(&o.DueAt), &o.Spent.Cents, engine.ScanTime(&o.Spent.From))
			return o, err
		})
		if err != nil || len(all) == 0 {
			return err
		}
		at := make(map[string]*draw.Overview, len(all))
		ids := make([]string, len(all))
		for i := range all {
			at[all[i].ID], ids[i] = &all[i], all[i].ID
		}
		if err := s.sumPrizes(ctx, tx, ids, at); err != nil {
			return err
		}
		if err := s.fewPrizes(ctx, tx, at, prizesMax); err != nil {
			return err
		}
		return s.readMoney(ctx, tx, all)
	})
	return all, err
}

// readMoney sets the money of pools. For a pool whose prizes were left out, it does not
// state whether something can be won.
func (s *Store) readMoney(ctx context.Context, q engine.Querier, all []draw.Overview) error {
	pools := make([]*draw.Pool, len(all))
	now := s.Now()
	for i := range all {
		o := &all[i]
		pools[i] = &o.Pool
		var err error
		if o.Money, err = s.moneyOf(ctx, q, &o.Pool, now); err != nil {
			return err
		}
		if int64(len(o.Prizes)) < o.PrizeCount {
			o.Money.Nothing = nil
		}
	}
	return s.readShown(ctx, q, pools)
}

// sumPrizes sets the sums of stocked units, issued units and awards of pools.
func (s *Store) sumPrizes(ctx context.Context, q engine.Querier, ids []string, at map[string]*draw.Overview) error {
	// The stock of an endless blank is not counted.
	finite := func(column string) string {
		return fmt.Sprintf("SUM(CASE WHEN kind = '%s' AND stocked = %d THEN 0 ELSE %s END)", draw.KindBlank, int64(draw.EndlessStock), column)
	}
	sums := s.ledger.SelectFrom("prizes", "pool_id", "COUNT(*)", finite("stocked"), finite("issued"), "SUM(issued)").
		Where(squirrel.Eq{"pool_id": ids}).GroupBy("pool_id")
	_, err := ledger.SelectAll(ctx, q, sums, func(row engine.Scanner) (struct{}, error) {
		var poolID string
		var count int64
		var stocked, issued, awards decimal.Decimal // some databases return sums of integers as decimals
		err := row.Scan(&poolID, &count, &stocked, &issued, &awards)
		if o := at[poolID]; o != nil {
			o.PrizeCount, o.Stocked, o.Issued, o.Awards = count, stocked.IntPart(), issued.IntPart(), awards.IntPart()
		}
		return struct{}{}, err
	})
	return err
}

// fewPrizes reads the prizes of pools that have at most prizesMax prizes.
func (s *Store) fewPrizes(ctx context.Context, q engine.Querier, at map[string]*draw.Overview, prizesMax int) error {
	var few []string
	for id, o := range at {
		if 0 < o.PrizeCount && o.PrizeCount <= int64(prizesMax) {
			few = append(few, id)
		}
	}
	if len(few) == 0 {
		return nil
	}
	query := s.ledger.SelectFrom("prizes", "pool_id", s.engine.PrizeColumns()).Where(squirrel.Eq{"pool_id": few}).OrderBy("pool_id", "added")
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var poolID string
		var p draw.Prize
		err := row.Scan(append([]any{&poolID}, engine.PrizeFields(&p)...)...)
		if o := at[poolID]; o != nil {
			o.Prizes = append(o.Prizes, p)
		}
		return struct{}{}, err
	})
	return err
}

// poolsAheadMax is the maximum number of pools that PoolsAhead returns.
const poolsAheadMax = 100

// PoolsAhead returns the ids of at most 100 pools, in order. Their last entry is ahead of
// the clock by more than the given time, and they are not closed. In such a pool,
// everything that depends on the time waits for the clock. Errors: those of the store.
func (s *Store) PoolsAhead(ctx context.Context, by time.Duration) (ids []string, err error) {
	latest := s.engine.Time(s.Now().Add(by).UTC())
	query := s.ledger.SelectFrom("pools", "id").Where(squirrel.Gt{"at": latest}).
		Where(squirrel.NotEq{"state": string(draw.StateClosed)}).OrderBy("id").Limit(poolsAheadMax)
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		ids, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) {
			return id, row.Scan(&id)
		})
		return err
	})
	return ids, err
}

// Levels returns the counts of every open pool, the newest pool first, from one snapshot.
// Endless blanks are not counted. It reads each prize of an open pool once. Errors: those
// of the store.
func (s *Store) Levels(ctx context.Context) (levels []draw.Level, err error) {
	open := squirrel.Eq{"state": string(draw.StateOpen)}
	pools := s.ledger.SelectFrom("pools", "id").Where(open).OrderBy("created_at DESC", "id")
	// The inner query does not number its placeholders, because it is a part of the outer
	// query.
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
			var stocked, issued decimal.Decimal // some databases return sums of integers as decimals
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
