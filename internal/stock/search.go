package stock

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// searchMax is how many versions of a pool one search goes through: awards have
// no index on users or prizes, which every draw would have to pay for.
const searchMax = 100_000

// FindAwards returns at most limit awards that f wants, in order of their
// versions, from the first above after. It goes through searchMax versions at
// most; through is the version up to which it has found all, and math.MaxInt64 where
// the pool has nothing above after: whoever goes on behind it comes to an end, also
// where versions were lost meanwhile. A draw is found by its key, in one step. Errors:
// CodePoolNotFound, and those of the store.
func (s *Store) FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error) {
	query := s.ledger.SelectAwards(poolID)
	for column, value := range map[string]string{"a.user_id": f.UserID, "a.prize_id": f.PrizeID} {
		if value != "" {
			query = query.Where(squirrel.Eq{column: value})
		}
	}
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, version int64) error {
		if through = version; after >= version {
			through = math.MaxInt64
			return nil
		}
		if f.DrawID != "" {
			// No order by versions: a planner would go through all of them.
			query := query.Where(squirrel.Eq{"a.draw_id": f.DrawID}).OrderBy("a.ordinal")
			awards, err = ledger.SelectAll(ctx, tx, query, s.ledger.ScanAward)
			awards = slices.DeleteFunc(awards, func(a draw.Award) bool { return a.Version <= after })
		} else {
			if after < version-searchMax {
				through = after + searchMax
			}
			query := ledger.PageAfter(query.Where(squirrel.LtOrEq{"version": through}), after, limit)
			awards, err = ledger.SelectAll(ctx, tx, query, s.ledger.ScanAward)
		}
		if len(awards) >= limit {
			awards = awards[:limit]
			through = awards[limit-1].Version
		}
		return err
	})
	return awards, through, err
}
