package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Rows are the rows of one pool in all tables, read by SQL of this package.
type Rows struct {
	Pool    string
	Version int64
	Prizes  []PrizeRow
	// Awards and Moves are in order of version.
	Awards []AwardRow
	Moves  []MoveRow
	// Changes are the versions of the changes.
	Changes []int64
}

// PrizeRow is one prize's counters.
type PrizeRow struct {
	ID              string
	Stocked, Issued int64
}

// AwardRow is one row of the log of awards.
type AwardRow struct {
	Version int64
	Draw    string
	Ordinal int
	User    string
	Prize   string
	Unit    int64
}

// MoveRow is one row of the log of stock moves.
type MoveRow struct {
	Version int64
	Prize   string
	Delta   int64
	Key     string
	Stocked int64
	Issued  int64
}

// The statements, in SQL that all databases accept; each takes the pool.
const (
	poolSQL    = `SELECT version FROM pools WHERE id = ?`
	prizesSQL  = `SELECT id, stocked, issued FROM prizes WHERE pool_id = ? ORDER BY id`
	awardsSQL  = `SELECT version, draw_id, ordinal, user_id, prize_id, unit FROM awards WHERE pool_id = ? ORDER BY version, ordinal`
	movesSQL   = `SELECT version, prize_id, delta, COALESCE(key_id, ''), stocked, issued FROM moves WHERE pool_id = ? ORDER BY version`
	changesSQL = `SELECT version FROM changes WHERE pool_id = ? ORDER BY version`
	// A textbook program has no changes, and no keys and counts in its moves.
	plainMovesSQL = `SELECT version, prize_id, delta, '', 0, 0 FROM moves WHERE pool_id = ? ORDER BY version`
)

// Read reads a pool's rows in one transaction. plain means that they are a textbook
// program's.
func Read(ctx context.Context, db *sql.DB, pool string, numbered, plain bool) (Rows, error) {
	r := Rows{Pool: pool}
	tx, err := db.BeginTx(ctx, nil) // TiDB refuses READ ONLY
	if err != nil {
		return r, err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	q := &query{ctx: ctx, on: tx, pool: pool, numbered: numbered}
	version := func(v *int64) []any { return []any{v} }
	for _, v := range all(q, poolSQL, version) {
		r.Version = v
	}
	r.Prizes = all(q, prizesSQL, func(p *PrizeRow) []any { return []any{&p.ID, &p.Stocked, &p.Issued} })
	r.Awards = all(q, awardsSQL, awardColumns)
	moves := movesSQL
	if plain {
		moves = plainMovesSQL
	} else {
		r.Changes = all(q, changesSQL, version)
	}
	r.Moves = all(q, moves, func(m *MoveRow) []any {
		return []any{&m.Version, &m.Prize, &m.Delta, &m.Key, &m.Stocked, &m.Issued}
	})
	if q.err != nil {
		return r, fmt.Errorf("read the rows of %s: %w", pool, q.err)
	}
	return r, nil
}

func awardColumns(a *AwardRow) []any {
	return []any{&a.Version, &a.Draw, &a.Ordinal, &a.User, &a.Prize, &a.Unit}
}

// ReadAwards reads the awards of a pool after a version, and none of its other rows: a
// large pool is judged in parts.
func ReadAwards(ctx context.Context, db *sql.DB, pool string, after int64, numbered bool) (Rows, error) {
	q := &query{ctx: ctx, on: db, pool: pool, numbered: numbered}
	statement := strings.Replace(awardsSQL, " ORDER", fmt.Sprintf(" AND version > %d ORDER", after), 1)
	return Rows{Pool: pool, Awards: all(q, statement, awardColumns)}, q.err
}

// query reads a pool's rows, and stops at the first error.
type query struct {
	ctx context.Context
	on  interface {
		QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
	}
	pool     string
	numbered bool
	err      error
}

// all returns the rows of a statement, each scanned into its columns.
func all[T any](q *query, statement string, columns func(*T) []any) (list []T) {
	if q.err != nil {
		return nil
	}
	if q.numbered {
		statement = strings.Replace(statement, "?", "$1", 1)
	}
	rows, err := q.on.QueryContext(q.ctx, statement, q.pool)
	if err != nil {
		q.err = err
		return nil
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() && q.err == nil {
		var one T
		q.err = rows.Scan(columns(&one)...)
		list = append(list, one)
	}
	q.err = errors.Join(q.err, rows.Err())
	return list
}
