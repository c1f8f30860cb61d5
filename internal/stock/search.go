package stock

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

// searchMax is the maximum number of versions of a pool that one search reads. Awards
// have no index on users or prizes, because every draw would have to update it.
const searchMax = 100_000

// FindAwards returns at most limit awards that match f and have versions greater than
// after, in order. It reads at most searchMax versions. through is the version up to
// which the search is complete. It is math.MaxInt64 if the pool has no version greater
// than after. So a caller that continues from through comes to an end, even if versions
// were lost. A draw is found by its key, in one call. Errors: CodePoolNotFound, and those
// of the store.
func (s *Store) FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error) {
	query := s.ledger.SelectAwards(poolID)
	query = query.Where(s.ledger.Matches(&f))
	if f.Wins {
		query = query.Where(isWin)
	}
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, version int64) error {
		if through = version; after >= version {
			through = math.MaxInt64
			return nil
		}
		if f.DrawID != "" {
			// If the order were by version, a planner would read all awards of the pool.
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
		if err != nil {
			return err
		}
		return s.ledger.AddRedirectsAt(ctx, tx, poolID, awards)
	})
	return awards, through, err
}

// isWin is the condition for awards of prizes AS p that are not losing tickets.
const isWin = `COALESCE(p.kind, '') <> 'blank'`

// UserAwards returns at most limit of a user's awards with versions greater than after,
// in order. These are the awards that were made while rules counted draws, or only wins
// if the current rules do not count draws. Errors: CodePoolNotFound, CodeUserNotCounted
// if the rules count neither, and those of the store.
func (s *Store) UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) (awards []draw.Award, err error) {
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		counted, err := s.countedOf(ctx, tx, poolID)
		if err != nil {
			return err
		}
		seen, err := s.turnsUpTo(ctx, tx, poolID, userID, counted, after)
		if err != nil {
			return err
		}
		// The join keeps turns without an award, so that no planner can begin with the
		// awards.
		page := s.ledger.SelectFrom("turns AS t "+s.engine.TurnAward+" "+s.engine.AwardPrize, engine.ReadAwards(engine.Awards())).
			Where(squirrel.Eq{"t.pool_id": poolID, "t.user_id": userID, "t.what": string(counted)}).Where(squirrel.Gt{"t.seq": seen}).
			Where("COALESCE(a.version, 0) > 0").OrderBy("t.seq").Limit(uint64(limit)) //nolint:gosec // checked by the caller
		awards, err = ledger.SelectAll(ctx, tx, page, s.ledger.ScanAward)
		return err
	})
	return awards, err
}

// turnsUpTo returns how many turns a user made up to a version. The versions of turns
// have no index. The numbers of turns have one, and versions rise with them. So the query
// searches by halves.
func (s *Store) turnsUpTo(ctx context.Context, q engine.Querier, poolID, userID string, counted draw.Counted, version int64) (int64, error) {
	if version <= 0 {
		return 0, nil
	}
	const own = "pool_id = ? AND user_id = ? AND what = ?"
	const isUpTo = "(SELECT version FROM turns WHERE " + own + " AND seq = (low + high + 1) >> 1) <= ?"
	of := []any{poolID, userID, string(counted)}
	// high - high is a zero of the column's type, which PostgreSQL requires.
	halves := squirrel.Expr(`WITH RECURSIVE halves (low, high) AS (
	SELECT high - high, high FROM (SELECT seq AS high FROM turns WHERE `+own+` ORDER BY seq DESC LIMIT 1) AS last
	UNION ALL
	SELECT CASE WHEN `+isUpTo+` THEN (low + high + 1) >> 1 ELSE low END, CASE WHEN `+isUpTo+` THEN high ELSE ((low + high + 1) >> 1) - 1 END
	FROM halves WHERE low < high)`, slices.Concat(of, of, []any{version}, of, []any{version})...)
	found, err := ledger.SelectAll(ctx, q, s.ledger.SelectFrom("halves", "low").PrefixExpr(halves).Where("low = high"), ledger.ScanInt)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}

// countedOf returns the kind of turns through which a user's awards are found.
func (s *Store) countedOf(ctx context.Context, q engine.Querier, poolID string) (draw.Counted, error) {
	inForce, err := ledger.SelectAll(ctx, q, s.ledger.SelectFrom("pools", "rules").Where(squirrel.Eq{"id": poolID}), ledger.ScanInt)
	if err != nil {
		return "", err
	}
	r, err := s.ledger.Ruling(ctx, q, poolID, inForce[0])
	if err != nil {
		return "", err
	}
	if why := r.Rules.Unreadable(); why != nil {
		return "", draw.Unreadable("the rules of pool %q", why, poolID)
	}
	for _, counted := range []draw.Counted{draw.CountedDraw, draw.CountedWin} {
		if slices.Contains(r.Rules.Counted(), counted) {
			return counted, nil
		}
	}
	return "", draw.Errorf(draw.CodeUserNotCounted, "the rules of pool %q count no draws and no wins of users", poolID)
}
