package history

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Rows are what the tables say of one pool, read by SQL of this package's own.
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

// The statements, which all databases read; each takes the pool.
const (
	poolSQL    = `SELECT version FROM pools WHERE id = ?`
	prizesSQL  = `SELECT id, stocked, issued FROM prizes WHERE pool_id = ? ORDER BY id`
	awardsSQL  = `SELECT version, draw_id, ordinal, user_id, prize_id, unit FROM awards WHERE pool_id = ? ORDER BY version, ordinal`
	movesSQL   = `SELECT version, prize_id, delta, COALESCE(key_id, ''), stocked, issued FROM moves WHERE pool_id = ? ORDER BY version`
	changesSQL = `SELECT version FROM changes WHERE pool_id = ? ORDER BY version`
	// A textbook program has no changes, no keys and no counts in its moves.
	plainMovesSQL = `SELECT version, prize_id, delta, '', 0, 0 FROM moves WHERE pool_id = ? ORDER BY version`
)

// Read reads a pool's rows in one transaction. plain says that they are a
// textbook program's.
func Read(ctx context.Context, db *sql.DB, pool string, numbered, plain bool) (Rows, error) {
	r := Rows{Pool: pool}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return r, err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	query := func(statement string, scan func(*sql.Rows) error) {
		if err != nil {
			return
		}
		if numbered {
			statement = strings.Replace(statement, "?", "$1", 1)
		}
		if err = each(ctx, tx, statement, pool, scan); err != nil {
			err = fmt.Errorf("read the rows of %s: %w", pool, err)
		}
	}
	query(poolSQL, func(row *sql.Rows) error { return row.Scan(&r.Version) })
	query(prizesSQL, func(row *sql.Rows) error {
		var p PrizeRow
		err := row.Scan(&p.ID, &p.Stocked, &p.Issued)
		r.Prizes = append(r.Prizes, p)
		return err
	})
	query(awardsSQL, func(row *sql.Rows) error {
		var a AwardRow
		err := row.Scan(&a.Version, &a.Draw, &a.Ordinal, &a.User, &a.Prize, &a.Unit)
		r.Awards = append(r.Awards, a)
		return err
	})
	moves := movesSQL
	if plain {
		moves = plainMovesSQL
	}
	query(moves, func(row *sql.Rows) error {
		var m MoveRow
		err := row.Scan(&m.Version, &m.Prize, &m.Delta, &m.Key, &m.Stocked, &m.Issued)
		r.Moves = append(r.Moves, m)
		return err
	})
	if !plain {
		query(changesSQL, func(row *sql.Rows) error {
			var version int64
			err := row.Scan(&version)
			r.Changes = append(r.Changes, version)
			return err
		})
	}
	return r, err
}

func each(ctx context.Context, tx *sql.Tx, statement, pool string, scan func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, statement, pool)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
