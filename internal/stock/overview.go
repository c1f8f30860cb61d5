package stock

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// overviewCache keeps the prizes and counts of the pools that Overviews returned last.
// They change only with the pool's version. So if a pool still has the same version and
// mark, only its row is read.
type overviewCache struct {
	mu sync.Mutex
	// of holds the overviews by the id of their pool. A map that is in use is never
	// changed.
	of map[string]keptOverview
}

// keptOverview is an overview of a pool. If the pool had more than prizesMax prizes, the
// overview leaves them out.
type keptOverview struct {
	draw.Overview
	head      draw.Head
	prizesMax int
}

func (c *overviewCache) get() map[string]keptOverview {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of
}

func (c *overviewCache) put(of map[string]keptOverview) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = of
}

// Overviews returns at most limit pools that are not archived, in order of their ids,
// with their counts, from one snapshot. It leaves out the prizes of a pool that has more
// than prizesMax. It reads prizes only of pools that changed since the last call: first
// for their sums, and then, if they are at most prizesMax, for the list. Calls share the
// slices of prizes, which nobody may change. Errors: those of the store.
func (s *Store) Overviews(ctx context.Context, limit, prizesMax int) (all []draw.Overview, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		read, err := s.poolRows(ctx, tx, limit)
		all = make([]draw.Overview, len(read))
		if err != nil || len(read) == 0 {
			return err
		}
		before, changed := s.overviews.get(), map[string]*draw.Overview{}
		for i := range read {
			all[i].Pool = read[i].Pool
			if kept, known := before[all[i].ID]; known && kept.head.Is(read[i].head) && kept.prizesMax == prizesMax {
				all[i].Prizes, all[i].PrizeCount = kept.Prizes, kept.PrizeCount
				all[i].Stocked, all[i].Issued, all[i].Awards = kept.Stocked, kept.Issued, kept.Awards
				continue
			}
			changed[all[i].ID] = &all[i]
		}
		if err := s.sumPrizes(ctx, tx, changed); err != nil {
			return err
		}
		if err := s.fewPrizes(ctx, tx, changed, prizesMax); err != nil {
			return err
		}
		if len(changed) > 0 || len(before) != len(all) {
			now := make(map[string]keptOverview, len(all))
			for i := range all {
				now[all[i].ID] = keptOverview{all[i], read[i].head, prizesMax}
			}
			s.overviews.put(now)
		}
		return s.readMoney(ctx, tx, all, read)
	})
	return all, err
}

// poolRow is a pool without its prizes. rulesAt is the time of the change that set the
// rules in force, zero without rules.
type poolRow struct {
	draw.Pool
	head    draw.Head
	rulesAt time.Time
}

// poolRows reads the rows of at most limit pools that are not archived.
func (s *Store) poolRows(ctx context.Context, q engine.Querier, limit int) ([]poolRow, error) {
	from, currency, text, fair := "pools", "''", "''", "FALSE"
	if !s.engine.Lacks(engine.PartFeed) {
		from, currency = "pools LEFT JOIN pool_display AS d ON d.pool_id = pools.id", "COALESCE(d.currency, '')"
	}
	if !s.engine.Lacks(engine.PartDisplays) {
		text, fair = "COALESCE(d.text, '')", "COALESCE(d.fair, FALSE)"
	}
	query := s.ledger.SelectFrom(from, "id", "name", "state", "COALESCE(mode, '')", "version", "mark", "revision", "rules", "committed", "due_at", "spent", "spent_from", currency, text, fair,
		"(SELECT c.at FROM changes AS c WHERE c.pool_id = pools.id AND c.version = pools.rules)").
		Where(squirrel.Eq{"archived": false}).OrderBy("id").Limit(uint64(limit)) //nolint:gosec // the caller's constant
	return ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (r poolRow, err error) {
		err = row.Scan(&r.ID, &r.Name, &r.State, &r.Mode, &r.Version, &r.head.Mark, &r.Revision, &r.RulesVersion, &r.Committed, engine.ScanTime(&r.DueAt),
			&r.Spent.Cents, engine.ScanTime(&r.Spent.From), &r.Currency, &r.Text, &r.IsFair, engine.ScanTime(&r.rulesAt))
		r.head.Version = r.Version
		return r, err
	})
}

// readMoney sets the money of pools, whose rows were read. For a pool whose prizes were
// left out, it does not state whether something can be won.
func (s *Store) readMoney(ctx context.Context, q engine.Querier, all []draw.Overview, rows []poolRow) (err error) {
	now := s.Now()
	for i := range all {
		o, kept := &all[i], s.money.get(all[i].ID)
		if !kept.isOf(o.RulesVersion, rows[i].rulesAt) {
			ruling, err := s.ledger.Ruling(ctx, q, o.ID, o.RulesVersion)
			if err != nil {
				return err
			}
			kept = kept.under(ruling)
		}
		if o.Money, err = s.moneyOf(ctx, q, &o.Pool, kept, now); err != nil {
			return err
		}
		if int64(len(o.Prizes)) < o.PrizeCount {
			o.Money.Nothing = nil
		}
	}
	return nil
}

// sumPrizes sets the sums of stocked units, issued units and awards of pools.
func (s *Store) sumPrizes(ctx context.Context, q engine.Querier, at map[string]*draw.Overview) error {
	if len(at) == 0 {
		return nil
	}
	// The stock of an endless blank is not counted.
	finite := func(column string) string {
		return fmt.Sprintf("SUM(CASE WHEN kind = '%s' AND stocked = %d THEN 0 ELSE %s END)", draw.KindBlank, int64(draw.EndlessStock), column)
	}
	sums := s.ledger.SelectFrom("prizes", "pool_id", "COUNT(*)", finite("stocked"), finite("issued"), "SUM(issued)").
		Where(squirrel.Eq{"pool_id": slices.Sorted(maps.Keys(at))}).GroupBy("pool_id")
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

// PoolsAhead returns the ids, in order, of at most 100 pools that are not closed. The
// last entry of each is ahead of the clock by more than the given time. In such a pool,
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
