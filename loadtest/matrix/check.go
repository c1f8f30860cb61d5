package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"drawsvc/loadtest/site"
)

// rows is what the tables say of a pool, read by this program's own SQL.
type rows struct {
	prizes map[string]prizeRows
	// version is the pool's own; entries the rows of the three logs, distinct
	// their different versions, last the highest.
	version, entries, distinct, last int64
	// mixed counts the draws whose awards are not one user's, numbered from 1.
	mixed int64
	// strays counts awards of prizes that the pool does not have.
	strays int64
}

// prizeRows is one prize: its counters, its award rows, and the sum of its
// moves.
type prizeRows struct {
	stocked, issued, awards, moved int64
}

// overIssued is how many awards there are beyond stock.
func (p prizeRows) overIssued() int64 { return max(p.awards-p.stocked, 0) }

// The checks, in SQL that all databases read; each takes the pool. None joins
// two tables: without statistics a database may do that in nested loops.
const (
	prizesSQL  = `SELECT id, stocked, issued FROM prizes WHERE pool_id = ?`
	awardedSQL = `SELECT prize_id, COUNT(*) FROM awards WHERE pool_id = ? GROUP BY prize_id`
	movedSQL   = `SELECT prize_id, SUM(delta) FROM moves WHERE pool_id = ? GROUP BY prize_id`
	versionSQL = `SELECT version FROM pools WHERE id = ?`
	logSQL     = `SELECT COUNT(*), COUNT(DISTINCT version), COALESCE(MAX(version), 0) FROM
	(SELECT version FROM awards WHERE pool_id = ? UNION ALL SELECT version FROM moves WHERE pool_id = ?
	UNION ALL SELECT version FROM changes WHERE pool_id = ?) history`
	mixedSQL = `SELECT COUNT(*) FROM (SELECT draw_id FROM awards WHERE pool_id = ? GROUP BY draw_id
	HAVING COUNT(DISTINCT user_id) > 1 OR COUNT(DISTINCT ordinal) <> COUNT(*) OR MIN(ordinal) <> 1 OR MAX(ordinal) <> COUNT(*)) bad`
)

// read counts a pool's rows.
func read(ctx context.Context, db *sql.DB, pool string, placeholder func(string) string) (rows, error) {
	r := rows{prizes: make(map[string]prizeRows)}
	err := each(ctx, db, placeholder(prizesSQL), pool, func(row *sql.Rows) error {
		var id string
		var p prizeRows
		err := row.Scan(&id, &p.stocked, &p.issued)
		r.prizes[id] = p
		return err
	})
	byPrize := func(text string, add func(p *prizeRows, n int64)) (strays int64) {
		if err != nil {
			return 0
		}
		err = each(ctx, db, placeholder(text), pool, func(row *sql.Rows) error {
			var id string
			var n int64
			if err := row.Scan(&id, &n); err != nil {
				return err
			}
			p, known := r.prizes[id]
			if !known {
				strays += n
				return nil
			}
			add(&p, n)
			r.prizes[id] = p
			return nil
		})
		return strays
	}
	one := func(text string, args []any, into ...any) {
		if err == nil {
			err = db.QueryRowContext(ctx, placeholder(text), args...).Scan(into...)
		}
	}
	r.strays = byPrize(awardedSQL, func(p *prizeRows, n int64) { p.awards = n })
	byPrize(movedSQL, func(p *prizeRows, n int64) { p.moved = n })
	one(versionSQL, []any{pool}, &r.version)
	one(logSQL, []any{pool, pool, pool}, &r.entries, &r.distinct, &r.last)
	one(mixedSQL, []any{pool}, &r.mixed)
	return r, err
}

// each scans the rows of a statement about a pool.
func each(ctx context.Context, db *sql.DB, text, pool string, scan func(*sql.Rows) error) error {
	found, err := db.QueryContext(ctx, text, pool)
	if err != nil {
		return fmt.Errorf("read the rows of %s: %w", pool, err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		if err := scan(found); err != nil {
			return err
		}
	}
	return found.Err()
}

// check reads the rows of a pool from the database that raw names.
func check(ctx context.Context, raw, pool string) (rows, error) {
	db, err := site.OpenDatabase(raw, "mode=ro")
	if err != nil {
		return rows{}, err
	}
	defer func() { _ = db.Close() }()
	placeholder := func(text string) string { return text }
	if strings.HasPrefix(raw, "postgres") {
		placeholder = dollars
	}
	return read(ctx, db, pool, placeholder)
}

// dollars writes PostgreSQL's placeholders.
func dollars(text string) string {
	for n := 1; strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", n), 1)
	}
	return text
}

// overIssued is how many awards the rows hold beyond stock.
func (r rows) overIssued() int64 {
	var n int64
	for _, p := range r.prizes {
		n += p.overIssued()
	}
	return n
}

// faults names every law that the rows break.
func (r rows) faults() []string {
	var faults []string
	say := func(broken bool, format string, args ...any) {
		if broken {
			faults = append(faults, "SQL: "+fmt.Sprintf(format, args...))
		}
	}
	for id, p := range r.prizes {
		say(p.overIssued() > 0, "%s over-issued by %d (stocked %d, awards %d)", id, p.overIssued(), p.stocked, p.awards)
		say(p.issued != p.awards, "%s says issued %d, has %d awards", id, p.issued, p.awards)
		say(p.stocked != p.moved, "%s says stocked %d, its moves add up to %d", id, p.stocked, p.moved)
	}
	say(len(r.prizes) == 0, "the pool has no prizes")
	say(r.entries != r.distinct, "%d versions are there twice", r.entries-r.distinct)
	say(r.last != r.distinct, "%d versions are missing", r.last-r.distinct)
	say(r.last != r.version, "the pool's version is %d, its log ends at %d", r.version, r.last)
	say(r.mixed > 0, "%d draws are not one draw of one user", r.mixed)
	say(r.strays > 0, "%d awards are of no prize of the pool", r.strays)
	return faults
}
