package steps

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// searchMax is the maximum number of awards that one search reads for a state without
// an index.
const searchMax = 5000

// FindByState returns at most limit awards of a pool that are in a state and have
// versions greater than after, in order. An index finds claimed and fulfilled awards. For
// other states it reads at most searchMax awards. through is the version up to which the
// search is complete. It is math.MaxInt64 if after is not below the pool's version.
// Errors: CodePoolNotFound, and those of the store.
func (b *Book) FindByState(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (found []draw.Life, through int64, err error) {
	err = b.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, version int64) error {
		found = nil
		if through = version; after >= version {
			through = math.MaxInt64
			return nil
		}
		if err := b.checkSchema(); err != nil {
			return err
		}
		isIndexed := f.State == draw.AwardClaimed || f.State == draw.AwardFulfilled
		query := b.candidates(poolID, f, isIndexed, after)
		page := searchMax
		if isIndexed {
			page = limit
		}
		versions, err := ledger.SelectAll(ctx, tx, query.Limit(uint64(page)), ledger.ScanInt) //nolint:gosec // checked by the caller
		if err != nil {
			return err
		}
		if len(versions) == page {
			through = versions[page-1]
		}
		lives, err := b.ReadLives(ctx, tx, poolID, versions)
		if err != nil {
			return err
		}
		for _, version := range versions {
			l := lives[version]
			if l == nil || l.State != f.State || l.Award.Blank {
				continue
			}
			if found = append(found, *l); len(found) == limit {
				through = version
				break
			}
		}
		return nil
	})
	return found, through, err
}

// candidates selects the versions of the awards that may match.
func (b *Book) candidates(poolID string, f draw.AwardFilter, isIndexed bool, after int64) squirrel.SelectBuilder {
	from := "awards AS a"
	where := squirrel.And{squirrel.Eq{"a.pool_id": poolID}, squirrel.Gt{"a.version": after}}
	order := "a.version"
	if isIndexed {
		from = "steps AS s JOIN awards AS a ON a.pool_id = s.pool_id AND a.version = s.award"
		where = squirrel.And{squirrel.Eq{"s.pool_id": poolID, "s.stands": string(f.State)}, squirrel.Gt{"s.award": after}}
		order = "s.award"
	}
	if f.DrawID != "" {
		where = append(where, squirrel.Eq{"a.draw_id": f.DrawID})
	}
	where = append(where, b.ledger.Matches(&f))
	return b.ledger.SelectFrom(from, "a.version").Where(where).OrderBy(order)
}

// ClaimedOpen returns the number of awards, in all pools, that are claimed and not
// fulfilled, and the age of the oldest. Errors: those of the store.
func (b *Book) ClaimedOpen(ctx context.Context) (c draw.ClaimedOpen, err error) {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return c, nil
	}
	err = b.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		c = draw.ClaimedOpen{}
		query := b.ledger.SelectFrom("step_heads", "pool_id", "claimed").Where(squirrel.Gt{"claimed": 0})
		pools, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) {
			var n int64
			err = row.Scan(&id, &n)
			c.Awards += n
			return id, err
		})
		if err != nil {
			return err
		}
		now, err := b.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(pools, versionsMax) {
			oldest := b.ledger.SelectFrom("steps", "since").Where(squirrel.Eq{"pool_id": part, "stands": string(draw.AwardClaimed)}).OrderBy("since").Limit(1)
			_, err := ledger.SelectAll(ctx, tx, oldest, func(row engine.Scanner) (struct{}, error) {
				since := now
				err := row.Scan(engine.ScanTime(&since))
				c.Oldest = max(c.Oldest, now.Sub(since))
				return struct{}{}, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return c, err
}
