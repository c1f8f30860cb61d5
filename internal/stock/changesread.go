package stock

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Changes returns at most limit changes of a pool in order of their versions,
// from the first above after. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Changes(ctx context.Context, poolID string, after int64, limit int) (changes []draw.Change, err error) {
	query := pageAfter(s.selectChanges(poolID), after, limit)
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		changes, err = selectAll(ctx, tx, query, s.scanChange(poolID))
		return err
	})
	return changes, err
}

// changesOf reads the changes of one kind of a pool, in order.
func (s *Store) changesOf(ctx context.Context, q engine.Querier, poolID string, what draw.What) ([]draw.Change, error) {
	query := s.selectChanges(poolID).Where(squirrel.Eq{"what": string(what)}).OrderBy("version")
	return selectAll(ctx, q, query, s.scanChange(poolID))
}

// lastChange reads the last change of one kind of a pool up to a version, nil for
// none.
func (s *Store) lastChange(ctx context.Context, q engine.Querier, poolID string, what draw.What, upTo int64) (*draw.Change, error) {
	query := s.selectChanges(poolID).Where(squirrel.Eq{"what": string(what)}).Where(squirrel.LtOrEq{"version": upTo})
	return firstChange(selectAll(ctx, q, query.OrderBy("version DESC").Limit(1), s.scanChange(poolID)))
}

// changeAt reads the change of a version, nil where that is no change.
func (s *Store) changeAt(ctx context.Context, q engine.Querier, poolID string, version int64) (*draw.Change, error) {
	return firstChange(selectAll(ctx, q, s.selectChanges(poolID).Where(squirrel.Eq{"version": version}), s.scanChange(poolID)))
}

func firstChange(found []draw.Change, err error) (*draw.Change, error) {
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// selectChanges reads changes of a pool.
func (s *Store) selectChanges(poolID string) squirrel.SelectBuilder {
	return s.selectFrom(s.changes.Table, s.changes.Read("")).Where(squirrel.Eq{"pool_id": poolID})
}

func (s *Store) scanChange(poolID string) func(engine.Scanner) (draw.Change, error) {
	return func(row engine.Scanner) (draw.Change, error) {
		c := draw.Change{PoolID: poolID}
		err := row.Scan(s.changes.Fields(&c)...)
		return c, err
	}
}
