package stock

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Draw returns a draw that the pool's log holds. Errors: CodePoolNotFound,
// CodeDrawNotFound, and those of the store.
func (s *Store) Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error) {
	var found map[string]draw.Draw
	err := s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		found = map[string]draw.Draw{}
		query := s.selectAwards(poolID).Where(squirrel.Eq{"a.draw_id": drawID}).OrderBy("a.ordinal")
		awards, err := selectAll(ctx, tx, query, s.scanAward)
		for _, a := range awards {
			engine.Collect(found, poolID, a)
		}
		if err == nil && len(found) == 0 {
			return s.absent(ctx, tx, draw.Errorf(draw.CodeDrawNotFound, "pool %q has no draw %q", poolID, drawID))
		}
		return err
	})
	if err != nil {
		return draw.Draw{}, err
	}
	return found[drawID], s.confirm(ctx)
}

// confirm returns when all that could be read before is as safe as what is
// acknowledged. Error: CodeStoreUnavailable, as who reads has nothing in doubt.
func (s *Store) confirm(ctx context.Context) error {
	if s.engine.Confirm == nil || s.options.ReadOnly {
		return nil
	}
	err := s.engine.Confirm(ctx)
	if s.observe(err); err == nil {
		return nil
	}
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the draw was found, and the database does not say that it is safe")
}

// Awards returns at most limit awards of a pool in order of their versions,
// from the first above after. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Awards(ctx context.Context, poolID string, after int64, limit int) (awards []draw.Award, err error) {
	query := pageAfter(s.selectAwards(poolID), after, limit)
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		awards, err = selectAll(ctx, tx, query, s.scanAward)
		return err
	})
	return awards, err
}

// Moves returns at most limit stock moves of a pool in order of their
// versions, from the first above after. Errors: CodePoolNotFound, and those of
// the store.
func (s *Store) Moves(ctx context.Context, poolID string, after int64, limit int) (moves []draw.Move, err error) {
	query := pageAfter(s.selectMoves(poolID), after, limit)
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		moves, err = s.readMoves(ctx, tx, poolID, query)
		return err
	})
	return moves, err
}

// Log returns at most limit entries of a pool's history in order of their
// versions, from the first above after. Awards have their redirects. Errors: CodePoolNotFound, and those of
// the store.
func (s *Store) Log(ctx context.Context, poolID string, after int64, limit int) (entries []draw.Entry, err error) {
	return s.logOf(ctx, poolID, after, limit, true)
}

// Acts returns what Log does, without awards.
func (s *Store) Acts(ctx context.Context, poolID string, after int64, limit int) (entries []draw.Entry, err error) {
	return s.logOf(ctx, poolID, after, limit, false)
}

func (s *Store) logOf(ctx context.Context, poolID string, after int64, limit int, withAwards bool) (entries []draw.Entry, err error) {
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		logs := []*pagedLog{
			inPages(ctx, tx, s.selectMoves(poolID), s.moves.Fields, after, limit, func(m *draw.Move) draw.Entry { return draw.Entry{Move: m} }),
			inPages(ctx, tx, s.selectChanges(poolID), s.changes.Fields, after, limit, func(c *draw.Change) draw.Entry { return draw.Entry{Change: c} }),
		}
		if withAwards {
			fields := func(a *draw.Award) []any { return engine.AwardFields(s.awards, a) }
			logs = append(logs, inPages(ctx, tx, s.selectAwards(poolID), fields, after, limit, func(a *draw.Award) draw.Entry { return draw.Entry{Award: a} }))
		}
		entries = []draw.Entry{}
		var moves []*draw.Move
		for e, err := range s.redirected(ctx, tx, poolID, after, limit, merge(logs)) {
			if err != nil {
				return err
			}
			e = e.In(poolID)
			if entries = append(entries, e); e.Move != nil {
				moves = append(moves, e.Move)
			}
			if len(entries) == limit {
				break
			}
		}
		return s.markEndless(ctx, tx, poolID, moves)
	})
	return entries, err
}

// addRedirects reads what the rules gave awards in place of, which are in order
// of their versions.
func (s *Store) addRedirects(ctx context.Context, q engine.Querier, poolID string, awards []draw.Award) error {
	redirects := s.redirects(ctx, q, poolID, awards[0].Version-1, len(awards))
	for i := range awards {
		found, err := redirectOf(redirects, awards[i].Version)
		if err != nil {
			return err
		}
		awards[i].Redirect = found
	}
	return nil
}

// absent is err, which says that something is not there, from a server that
// could have been written; another may only not have it yet.
func (s *Store) absent(ctx context.Context, tx *sql.Tx, err error) error {
	return cmp.Or(engine.CheckWritable(ctx, tx, s.engine.Dialect), err)
}

// ofPool runs fn in a snapshot that finds rows through keys, with the pool's
// version, or returns CodePoolNotFound.
func (s *Store) ofPool(ctx context.Context, poolID string, fn func(tx *sql.Tx, version int64) error) error {
	return s.snapshot(ctx, func(tx *sql.Tx) error {
		version, err := s.versionOf(ctx, tx, poolID)
		if err != nil {
			return err
		}
		return fn(tx, version)
	})
}

// rowsOf is ofPool for reading many rows.
func (s *Store) rowsOf(ctx context.Context, poolID string, fn func(q engine.Querier, version int64) error) error {
	return s.snapshotBy(ctx, s.engine.Read, func(conn *sql.Conn, tx *sql.Tx) error {
		version, err := s.versionOf(ctx, tx, poolID)
		if err != nil {
			return err
		}
		return fn(s.engine.ByDriver(conn, tx), version)
	})
}

// versionOf is the version of a pool, of which rows are found by key from here on.
func (s *Store) versionOf(ctx context.Context, tx *sql.Tx, poolID string) (int64, error) {
	if s.engine.ByKey != "" {
		if _, err := tx.ExecContext(ctx, s.engine.ByKey); err != nil {
			return 0, err
		}
	}
	found, err := selectAll(ctx, tx, s.selectFrom("pools", "version").Where(squirrel.Eq{"id": poolID}), scanInt)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, s.absent(ctx, tx, engine.PoolNotFound(poolID))
	}
	return found[0], nil
}

// selectAwards reads awards of a pool, each with its prize. The prize is looked
// up for each award in its turn: a planner that is free to choose may go
// through all prizes of the pool for a page of awards.
func (s *Store) selectAwards(poolID string) squirrel.SelectBuilder {
	return s.selectFrom("awards AS a "+s.engine.AwardPrize, engine.ReadAwards(s.awards)).Where(squirrel.Eq{"a.pool_id": poolID})
}

// readMoves reads moves that are shown.
func (s *Store) readMoves(ctx context.Context, tx *sql.Tx, poolID string, query squirrel.SelectBuilder) ([]draw.Move, error) {
	moves, err := selectAll(ctx, tx, query, s.scanMove(poolID))
	if err != nil {
		return nil, err
	}
	all := make([]*draw.Move, len(moves))
	for i := range moves {
		all[i] = &moves[i]
	}
	return moves, s.markEndless(ctx, tx, poolID, all)
}

// markEndless notes which moves made endless blanks.
func (s *Store) markEndless(ctx context.Context, q engine.Querier, poolID string, moves []*draw.Move) error {
	if !slices.ContainsFunc(moves, func(m *draw.Move) bool { return m.Delta == draw.EndlessStock }) {
		return nil
	}
	endless, err := s.endless(ctx, q, poolID)
	for _, m := range moves {
		m.IsEndless = m.Delta == draw.EndlessStock && endless[m.PrizeID]
	}
	return err
}

// endless are the endless blanks of a pool.
func (s *Store) endless(ctx context.Context, q engine.Querier, poolID string) (map[string]bool, error) {
	query := s.selectFrom("prizes", "id").Where(squirrel.Eq{"pool_id": poolID, "kind": string(draw.KindBlank), "stocked": int64(draw.EndlessStock)})
	ids, err := selectAll(ctx, q, query, func(row engine.Scanner) (id string, err error) { return id, row.Scan(&id) })
	found := make(map[string]bool, len(ids))
	for _, id := range ids {
		found[id] = true
	}
	return found, err
}

// selectMoves reads moves of a pool.
func (s *Store) selectMoves(poolID string) squirrel.SelectBuilder {
	return s.selectFrom("moves", s.moves.Read("")).Where(squirrel.Eq{"pool_id": poolID})
}

func (s *Store) scanAward(row engine.Scanner) (draw.Award, error) {
	return engine.ScanAward(s.awards, row)
}

func (s *Store) scanMove(poolID string) func(engine.Scanner) (draw.Move, error) {
	return func(row engine.Scanner) (draw.Move, error) {
		m := draw.Move{PoolID: poolID}
		err := row.Scan(s.moves.Fields(&m)...)
		return m, err
	}
}

func scanInt(row engine.Scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}
