package stock

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// UserAwards returns at most limit of a user's awards in order of their versions,
// from the first above after: those made while rules counted draws, or only
// wins where the rules in force count no draws. Errors: CodePoolNotFound,
// CodeUserNotCounted where they count neither, and those of the store.
func (s *Store) UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) (awards []draw.Award, err error) {
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		counted, err := s.countedOf(ctx, tx, poolID)
		if err != nil {
			return err
		}
		turns := s.selectFrom("turns", "version").Where(squirrel.Eq{"pool_id": poolID, "user_id": userID, "what": string(counted)})
		versions, err := selectAll(ctx, tx, turns.Where(squirrel.Gt{"version": after}).OrderBy("seq").Limit(uint64(limit)), scanInt) //nolint:gosec // checked by the caller
		if err != nil {
			return err
		}
		// In parts, because databases bound the parameters of a statement.
		for part := range slices.Chunk(versions, userAwardsMax) {
			found, err := selectAll(ctx, tx, s.selectAwards(poolID).Where(squirrel.Eq{"a.version": part}).OrderBy("a.version"), s.scanAward)
			if err != nil {
				return err
			}
			awards = append(awards, found...)
		}
		return nil
	})
	return awards, err
}

// userAwardsMax is how many awards one statement looks up by their versions.
const userAwardsMax = 500

// countedOf is the kind of turns that the awards of a user are found by.
func (s *Store) countedOf(ctx context.Context, q engine.Querier, poolID string) (draw.Counted, error) {
	inForce, err := selectAll(ctx, q, s.selectFrom("pools", "rules").Where(squirrel.Eq{"id": poolID}), scanInt)
	if err != nil {
		return "", err
	}
	r, err := s.ruling(ctx, q, poolID, inForce[0])
	if err != nil {
		return "", err
	}
	for _, counted := range []draw.Counted{draw.CountedDraw, draw.CountedWin} {
		if slices.Contains(r.Rules.Counted(), counted) {
			return counted, nil
		}
	}
	return "", draw.Errorf(draw.CodeUserNotCounted, "the rules of pool %q count no draws and no wins of users", poolID)
}
