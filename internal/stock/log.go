package stock

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
)

// Draw returns a draw that the pool's log holds. Errors: CodePoolNotFound,
// CodeDrawNotFound, and those of the store.
func (s *Store) Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error) {
	var found map[string]draw.Draw
	err := s.ofPool(ctx, poolID, func(tx *sql.Tx) error {
		found = map[string]draw.Draw{}
		awards, err := selectAll(ctx, tx, s.selectAwards(poolID).Where(squirrel.Eq{"a.draw_id": drawID}).OrderBy("a.ordinal"), scanAward)
		for _, a := range awards {
			collect(found, poolID, a)
		}
		if err == nil && len(found) == 0 {
			return s.absent(ctx, tx, draw.Errorf(draw.CodeDrawNotFound, "pool %q has no draw %q", poolID, drawID))
		}
		return err
	})
	if err != nil {
		return draw.Draw{}, err
	}
	if s.confirm != nil && !s.options.ReadOnly {
		return found[drawID], public(s.confirm(ctx))
	}
	return found[drawID], nil
}

// Awards returns at most limit awards of a pool in order of their versions,
// from the first above after. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Awards(ctx context.Context, poolID string, after int64, limit int) (awards []draw.Award, err error) {
	query := s.selectAwards(poolID).Where(squirrel.Gt{"a.version": after}).OrderBy("a.version").Limit(uint64(limit))
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx) error {
		awards, err = selectAll(ctx, tx, query, scanAward)
		return err
	})
	return awards, err
}

// Moves returns at most limit stock moves of a pool in order of their
// versions, from the first above after. Errors: CodePoolNotFound, and those of
// the store.
func (s *Store) Moves(ctx context.Context, poolID string, after int64, limit int) (moves []draw.Move, err error) {
	query := s.selectMoves(poolID).Where(squirrel.Gt{"version": after}).OrderBy("version").Limit(uint64(limit))
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx) error {
		moves, err = selectAll(ctx, tx, query, scanMove(poolID))
		return err
	})
	return moves, err
}

// absent is err, which says that something is not there, from a server that
// could have been written; another may only not have it yet.
func (s *Store) absent(ctx context.Context, tx *sql.Tx, err error) error {
	return cmp.Or(checkWritable(ctx, tx, s.dialect), err)
}

// ofPool runs fn in a snapshot, or returns CodePoolNotFound.
func (s *Store) ofPool(ctx context.Context, poolID string, fn func(*sql.Tx) error) error {
	return s.snapshot(ctx, func(tx *sql.Tx) error {
		found, err := selectAll(ctx, tx, s.selectFrom("pools", "version").Where(squirrel.Eq{"id": poolID}), scanInt)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return s.absent(ctx, tx, errPoolNotFound(poolID))
		}
		return fn(tx)
	})
}

func (s *Store) selectAwards(poolID string) squirrel.SelectBuilder {
	return s.selectFrom("awards AS a", awardColumns).
		Join("prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id").Where(squirrel.Eq{"a.pool_id": poolID})
}

func (s *Store) selectMoves(poolID string) squirrel.SelectBuilder {
	return s.selectFrom("moves", "version", "prize_id", "delta", "reason", "COALESCE(key_id, '')", "stocked", "issued", "at").
		Where(squirrel.Eq{"pool_id": poolID})
}

func scanMove(poolID string) func(scanner) (draw.Move, error) {
	return func(row scanner) (draw.Move, error) {
		m := draw.Move{PoolID: poolID}
		err := row.Scan(&m.Version, &m.PrizeID, &m.Delta, &m.Reason, &m.Key, &m.Stocked, &m.Issued, &timestamp{&m.At})
		return m, err
	}
}

func scanInt(row scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}
