package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Absent returns err, the error for a missing row, if the server can be written to. A
// server that cannot be written to may receive the row later. There, Absent returns an
// error that does not say that the row is missing.
func (l *Ledger) Absent(ctx context.Context, q engine.Querier, err error) error {
	return cmp.Or(engine.CheckWritable(ctx, q, l.Engine.Dialect), err)
}

// OfPool runs fn with the pool's version in a snapshot that finds rows through keys.
// Errors: CodePoolNotFound, and those of fn.
func (l *Ledger) OfPool(ctx context.Context, poolID string, fn func(tx *sql.Tx, version int64) error) error {
	return l.Snapshot(ctx, func(tx *sql.Tx) error {
		version, err := l.versionOf(ctx, tx, poolID)
		if err != nil {
			return err
		}
		return fn(tx, version)
	})
}

// RowsOf is OfPool for functions that read many rows.
func (l *Ledger) RowsOf(ctx context.Context, poolID string, fn func(q engine.Querier, version int64) error) error {
	return l.snapshotBy(ctx, l.Engine.Read, func(conn *sql.Conn, tx *sql.Tx) error {
		version, err := l.versionOf(ctx, tx, poolID)
		if err != nil {
			return err
		}
		return fn(l.Engine.ByDriver(conn, tx), version)
	})
}

// FindByKey makes the later reads of a transaction find rows by key, regardless of the
// database's statistics.
func (l *Ledger) FindByKey(ctx context.Context, tx *sql.Tx) error {
	if l.Engine.ByKey == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, l.Engine.ByKey)
	return err
}

// versionOf returns the version of a pool, and makes later reads find rows by key.
func (l *Ledger) versionOf(ctx context.Context, tx *sql.Tx, poolID string) (int64, error) {
	if err := l.FindByKey(ctx, tx); err != nil {
		return 0, err
	}
	found, err := SelectAll(ctx, tx, l.SelectFrom("pools", "version").Where(squirrel.Eq{"id": poolID}), ScanInt)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, l.Absent(ctx, tx, engine.PoolNotFound(poolID))
	}
	return found[0], nil
}

// SelectAwards selects awards of a pool, each with its prize. The database looks up the
// prize of each award separately. A planner with a free choice may read all prizes of the
// pool for one page of awards.
func (l *Ledger) SelectAwards(poolID string) squirrel.SelectBuilder {
	return l.SelectFrom("awards AS a "+l.Engine.AwardPrize, engine.ReadAwards(l.awards)).Where(squirrel.Eq{"a.pool_id": poolID})
}

// Matches returns the condition for awards AS a that a filter selects.
func (l *Ledger) Matches(f *draw.AwardFilter) squirrel.And {
	all := squirrel.And{}
	for column, value := range map[string]string{"a.user_id": f.UserID, "a.prize_id": f.PrizeID} {
		if value != "" {
			all = append(all, squirrel.Eq{column: value})
		}
	}
	if !f.From.IsZero() {
		all = append(all, squirrel.GtOrEq{"a.at": l.Engine.Time(f.From.UTC())})
	}
	if !f.To.IsZero() {
		all = append(all, squirrel.Lt{"a.at": l.Engine.Time(f.To.UTC())})
	}
	return all
}

// ReadMoves reads moves to be returned to callers.
func (l *Ledger) ReadMoves(ctx context.Context, tx *sql.Tx, poolID string, query squirrel.SelectBuilder) ([]draw.Move, error) {
	moves, err := SelectAll(ctx, tx, query, l.ScanMove(poolID))
	if err != nil {
		return nil, err
	}
	all := make([]*draw.Move, len(moves))
	for i := range moves {
		all[i] = &moves[i]
	}
	return moves, l.markEndless(ctx, tx, poolID, all)
}

// markEndless marks the moves that created endless blanks.
func (l *Ledger) markEndless(ctx context.Context, q engine.Querier, poolID string, moves []*draw.Move) error {
	if !slices.ContainsFunc(moves, func(m *draw.Move) bool { return m.Delta == draw.EndlessStock }) {
		return nil
	}
	endless, err := l.Endless(ctx, q, poolID)
	for _, m := range moves {
		m.IsEndless = m.Delta == draw.EndlessStock && endless[m.PrizeID]
	}
	return err
}

// Endless returns which prizes of a pool are endless blanks.
func (l *Ledger) Endless(ctx context.Context, q engine.Querier, poolID string) (map[string]bool, error) {
	query := l.SelectFrom("prizes", "id").Where(squirrel.Eq{"pool_id": poolID, "kind": string(draw.KindBlank), "stocked": int64(draw.EndlessStock)})
	ids, err := SelectAll(ctx, q, query, func(row engine.Scanner) (id string, err error) { return id, row.Scan(&id) })
	found := make(map[string]bool, len(ids))
	for _, id := range ids {
		found[id] = true
	}
	return found, err
}

// SelectMoves selects moves of a pool.
func (l *Ledger) SelectMoves(poolID string) squirrel.SelectBuilder {
	return l.SelectFrom("moves", l.moves.Read("")).Where(squirrel.Eq{"pool_id": poolID})
}

// ScanAward reads a row of SelectAwards.
func (l *Ledger) ScanAward(row engine.Scanner) (draw.Award, error) {
	return engine.ScanAward(l.awards, row)
}

// ScanMove reads a row of SelectMoves.
func (l *Ledger) ScanMove(poolID string) func(engine.Scanner) (draw.Move, error) {
	return func(row engine.Scanner) (draw.Move, error) {
		m := draw.Move{PoolID: poolID}
		err := row.Scan(l.moves.Fields(&m)...)
		return m, err
	}
}

// ChangesOf reads a pool's changes of one kind, in order.
func (l *Ledger) ChangesOf(ctx context.Context, q engine.Querier, poolID string, what draw.What) ([]draw.Change, error) {
	query := l.SelectChanges(poolID).Where(squirrel.Eq{"what": string(what)}).OrderBy("version")
	return SelectAll(ctx, q, query, l.ScanChange(poolID))
}

// LastChange reads a pool's last change of one kind up to a version, nil for none.
func (l *Ledger) LastChange(ctx context.Context, q engine.Querier, poolID string, what draw.What, upTo int64) (*draw.Change, error) {
	query := l.SelectChanges(poolID).Where(squirrel.Eq{"what": string(what)}).Where(squirrel.LtOrEq{"version": upTo})
	return firstChange(SelectAll(ctx, q, query.OrderBy("version DESC").Limit(1), l.ScanChange(poolID)))
}

// ChangeAt reads the change of a version, nil if that version is not a change.
func (l *Ledger) ChangeAt(ctx context.Context, q engine.Querier, poolID string, version int64) (*draw.Change, error) {
	return firstChange(SelectAll(ctx, q, l.SelectChanges(poolID).Where(squirrel.Eq{"version": version}), l.ScanChange(poolID)))
}

func firstChange(found []draw.Change, err error) (*draw.Change, error) {
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// SelectChanges selects changes of a pool.
func (l *Ledger) SelectChanges(poolID string) squirrel.SelectBuilder {
	return l.SelectFrom(l.changes.Table, l.changes.Read("")).Where(squirrel.Eq{"pool_id": poolID})
}

// ScanChange reads a row of SelectChanges.
func (l *Ledger) ScanChange(poolID string) func(engine.Scanner) (draw.Change, error) {
	return func(row engine.Scanner) (draw.Change, error) {
		c := draw.Change{PoolID: poolID}
		err := row.Scan(l.changes.Fields(&c)...)
		return c, err
	}
}
