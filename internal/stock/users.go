package stock

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// UserAwards returns at most limit of a user's awards in order of their versions,
// from the first above after: those made while rules counted draws, or only
// wins where the rules in force count no draws. Errors: CodePoolNotFound,
// CodeUserNotCounted where they count neither, and those of the store.
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
		// A join that keeps turns without an award has no planner begin with awards.
		page := s.ledger.SelectFrom("turns AS t "+s.engine.TurnAward+" "+s.engine.AwardPrize, engine.ReadAwards(engine.Awards())).
			Where(squirrel.Eq{"t.pool_id": poolID, "t.user_id": userID, "t.what": string(counted)}).Where(squirrel.Gt{"t.seq": seen}).
			Where("COALESCE(a.version, 0) > 0").OrderBy("t.seq").Limit(uint64(limit)) //nolint:gosec // checked by the caller
		awards, err = ledger.SelectAll(ctx, tx, page, s.ledger.ScanAward)
		return err
	})
	return awards, err
}

// turnsUpTo is how many turns a user made up to a version. Their versions have no
// index, but rise with their numbers, which have: so half of those that are left is
// dropped at each step.
func (s *Store) turnsUpTo(ctx context.Context, q engine.Querier, poolID, userID string, counted draw.Counted, version int64) (int64, error) {
	if version <= 0 {
		return 0, nil
	}
	const own = "pool_id = ? AND user_id = ? AND what = ?"
	const isUpTo = "(SELECT version FROM turns WHERE " + own + " AND seq = (low + high + 1) >> 1) <= ?"
	of := []any{poolID, userID, string(counted)}
	// high - high is a zero of its type, which PostgreSQL wants.
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

// countedOf is the kind of turns that the awards of a user are found by.
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
