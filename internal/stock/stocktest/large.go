package stocktest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Large is a pool that is filled by SQL and keeps every rule of the audit. A million
// draws over HTTP would take minutes.
type Large struct {
	// Pool has the prizes prize-0 to prize-(Prizes-1), each of the value 1.00. Its rules
	// count draws and have a budget. It has no awards, and nobody may draw from it
	// meanwhile.
	Pool           string
	Prizes, Awards int
	// Users is the number of users. Each gets the same number of awards. Of the first
	// Stepped awards, half are claimed and half are fulfilled.
	Users, Stepped int
	// Days is the number of days in the statement. Each day has a line for every prize.
	Days int
}

// Fill adds the awards, their turns and steps, and the statement.
func (l Large) Fill(ctx context.Context, db *sql.DB) error {
	var version int64
	if err := db.QueryRowContext(ctx, `SELECT version FROM pools WHERE id = '`+l.Pool+`'`).Scan(&version); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, text := range l.statements(version, time.Now().UTC()) {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return tx.Commit()
}

// statements returns SQL for SQLite and PostgreSQL. The awards come after a version.
func (l Large) statements(version int64, now time.Time) []string {
	const numbers = `WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < :last) `
	fill := strings.NewReplacer(":pool", l.Pool, ":version", fmt.Sprint(version), ":prizes", fmt.Sprint(l.Prizes), ":users", fmt.Sprint(l.Users),
		":awards", fmt.Sprint(l.Awards), ":stepped", fmt.Sprint(l.Stepped), ":at", "'"+now.Format("2006-01-02T15:04:05.000000Z")+"'")
	all := []string{
		strings.Replace(numbers, ":last", fmt.Sprint(l.Awards-1), 1) + `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
			SELECT ':pool', :version + 1 + i, 'draw-' || i, 1, 'user-' || (i % :users), 'prize-' || (i % :prizes), i / :prizes + 1, :at FROM numbers`,
		strings.Replace(numbers, ":last", fmt.Sprint(l.Awards-1), 1) + `INSERT INTO turns (pool_id, user_id, what, seq, version, run, at)
			SELECT ':pool', 'user-' || (i % :users), 'draw', i / :users + 1, :version + 1 + i, 0, :at FROM numbers`,
		`UPDATE prizes SET issued = :awards / :prizes + CASE WHEN CAST(substr(id, 7) AS INTEGER) < :awards % :prizes THEN 1 ELSE 0 END, changed = :version + :awards
			WHERE pool_id = ':pool' AND id LIKE 'prize-%'`,
		`UPDATE pools SET version = :version + :awards, mark = 4711, at = :at, spent = spent + 100 * :awards WHERE id = ':pool'`,
	}
	if l.Stepped > 0 {
		all = append(all, strings.Replace(numbers, ":last", fmt.Sprint(l.Stepped-1), 1)+`INSERT INTO steps (pool_id, n, award, seq, what, state, stands, actor, since, at)
			SELECT ':pool', i + 1, :version + 1 + i, 1, state, state, state, 'ship', :at, :at FROM (
				SELECT i, CASE WHEN i % 2 = 0 THEN 'claimed' ELSE 'fulfilled' END AS state FROM numbers) AS made`,
			`INSERT INTO step_heads (pool_id, n, claimed) VALUES (':pool', :stepped, (:stepped + 1) / 2)`)
	}
	if l.Days > 0 {
		days := make([]string, l.Days)
		for i := range days {
			days[i] = "SELECT '" + now.AddDate(0, 0, i-l.Days).Format(time.DateOnly) + "' AS day"
		}
		all = append(all, `INSERT INTO statements (pool_id, day, prize_id, issued, remaining, value, to_version)
			SELECT ':pool', d.day, p.id, 1, 1, '1.00', :version FROM prizes AS p, (`+strings.Join(days, " UNION ALL ")+`) AS d WHERE p.pool_id = ':pool'`)
	}
	for i := range all {
		all[i] = fill.Replace(all[i])
	}
	return all
}
