package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/seal"
	"drawsvc/loadtest/place"
)

const fillStatements = 10

// filler has the parts of filling a log that differ between the databases. The rest is
// SQL that all of them accept.
type filler struct {
	// options are options of SQLite's URI.
	options []string
	before  []string
	// hash is an SQL expression that gives 32 random hexadecimal digits for each number
	// i. It has one parameter, which must differ between statements.
	hash string
	// hex is an SQL expression that gives a time in milliseconds as 12 hexadecimal
	// digits. Its parameter is the time of the first i; each further i is 50 µs later.
	hex string
	// once prevents a part of the statement from being computed twice.
	once string
	// at is the layout of times in the database.
	at string
	// sessions is how many sessions may write at once.
	sessions int
	// after are statements that complete deferred work, so that it does not disturb the
	// measurements.
	after []string
}

func fillers() map[string]filler {
	const serverTime = "2006-01-02 15:04:05.000000"
	return map[string]filler{
		"postgres": {
			hash: `md5('%s' || i)`, hex: `lpad(to_hex(%d + (i - 1) / 20), 12, '0')`, once: "MATERIALIZED", at: serverTime + "Z", sessions: 2,
			after: []string{"VACUUM ANALYZE awards", "VACUUM ANALYZE prizes", "CHECKPOINT"},
		},
		"mysql": {
			before: []string{"SET SESSION max_recursive_iterations = 4294967295"},
			hash:   `md5(concat('%s', i))`, hex: `lpad(lower(hex(%d + (i - 1) DIV 20)), 12, '0')`, at: serverTime, sessions: 2,
			// FOR EXPORT returns only after it has written the table's pages.
			after: []string{"ANALYZE TABLE awards", "FLUSH TABLES awards FOR EXPORT", "UNLOCK TABLES"},
		},
		"sqlite": {
			options: []string{"_pragma=busy_timeout(10000)", "_pragma=synchronous(OFF)", "_pragma=cache_size(-262144)"},
			hash:    `lower(hex(randomblob(16))) || substr('%s', 1, 0)`, hex: `printf('%%012x', %d + (i - 1) / 20)`, once: "MATERIALIZED",
			at: "2006-01-02T15:04:05.000000Z", sessions: 1,
			after: []string{"PRAGMA wal_checkpoint(TRUNCATE)"},
		},
	}
}

// fill adds prizes or awards to the candidate's pool, by SQL that keeps every rule that
// the audit checks: versions without gaps, a move for each prize, and issued equal to
// the number of awards. No client may draw meanwhile.
func fill(ctx context.Context, c candidate, url string) error {
	f := fillers()[c.database]
	db, err := place.Open(url, f.options...)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if c.prizes > prizesUsual {
		if _, err := db.ExecContext(ctx, morePrizesSQL, poolOf(c), c.prizes-prizesUsual, int64(plenty)); err != nil {
			return fmt.Errorf("add prizes: %w", err)
		}
	}
	if c.awards > 0 {
		if err := f.fillLog(ctx, db, c); err != nil {
			return fmt.Errorf("add awards: %w", err)
		}
	}
	if c.steps {
		if err := onSession(ctx, db, fulfilAllSQL()); err != nil {
			return err
		}
	}
	return onSession(ctx, db, f.after)
}

func onSession(ctx context.Context, db *sql.DB, statements []string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for _, text := range statements {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

const morePrizesSQL = `WITH pool AS (
	UPDATE pools SET version = version + $2 WHERE id = $1 RETURNING version - $2 AS was
), added AS (
	INSERT INTO prizes (pool_id, id, name, value, stocked, issued, added, changed)
	SELECT $1, 'more-' || n, 'Prize ' || n, 1, $3, 0, was + n, was + n FROM pool, generate_series(1, $2::bigint) n
)
INSERT INTO moves (pool_id, version, prize_id, delta, reason, stocked, issued, at)
SELECT $1, was + n, 'more-' || n, $3, 'created', $3, 0, now() FROM pool, generate_series(1, $2::bigint) n`

// The rows are inserted in the order of their draw ids, which saves disk writes. Over
// many statements, inserts still reach all pages of the ids' index, as with keys of
// callers.
const moreAwardsSQL = `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < %[1]d),
hashes AS %[2]s (SELECT %[3]s AS h FROM numbers),
ids AS (SELECT concat(substr(h, 1, 8), '-', substr(h, 9, 4), '-%[6]s', substr(h, 14, 3), '-8', substr(h, 18, 3), '-', substr(h, 21)) AS id FROM hashes),
sorted AS (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM ids)
SELECT '%[4]s', %[5]d + n, id, 1, 'user-12345', concat('prize-', n %% 10), %[7]d + (n - n %% 10) / 10, '%[8]s'
FROM sorted`

// fulfilAllSQL are PostgreSQL's statements for a step of each award.
func fulfilAllSQL() []string {
	return []string{
		`INSERT INTO steps (pool_id, n, award, seq, what, state, stands, actor, since, at)
			SELECT pool_id, row_number() OVER (ORDER BY version), version, 1, 'fulfilled', 'fulfilled', 'fulfilled', 'bench', at, at FROM awards`,
		`INSERT INTO step_heads (pool_id, n) SELECT pool_id, count(*) FROM steps GROUP BY pool_id
			ON CONFLICT (pool_id) DO UPDATE SET n = excluded.n`,
		`VACUUM ANALYZE steps`,
	}
}

// fillCodes adds codes to the reserve of each prize until it has the given number. One
// code was imported before, so that the database has the key. fillCodes works only on
// PostgreSQL.
func fillCodes(ctx context.Context, url, pool string, key *seal.Key, each int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	n := prizesUsual - 1
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"codes"}, []string{"pool_id", "prize_id", "place", "digest", "key_id", "sealed"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if n++; n >= each*prizesUsual {
				return nil, nil
			}
			prize, code := fmt.Sprint("prize-", n%prizesUsual), fmt.Appendf(nil, "BENCH-%010d", n)
			digest := key.Digest(code)
			return []any{pool, prize, n/prizesUsual + 1, digest[:], key.ID, key.Seal("drawsvc code v1\n"+pool+"\n"+prize, code)}, nil
		}))
	for _, text := range []string{fmt.Sprintf(`UPDATE code_heads SET places = %d`, each), `VACUUM ANALYZE codes`} {
		if err == nil {
			_, err = conn.Exec(ctx, text)
		}
	}
	return err
}

// dueAge is the age of awards that are past their deadline.
const dueAge = 2 * time.Hour

// fillLog adds awards, the same number of each of the usual prizes, by statements that
// the database runs in several sessions at once.
func (f filler) fillLog(ctx context.Context, db *sql.DB, c candidate) error {
	part := c.awards / fillStatements / prizesUsual * prizesUsual
	version, issued, err := book(ctx, db, poolOf(c), part*fillStatements)
	if err != nil {
		return err
	}
	var sessions sync.WaitGroup
	statements, errs := make(chan string, fillStatements), make(chan error, f.sessions)
	begin := time.Now()
	if c.expires() {
		begin = begin.Add(-dueAge)
	}
	for n := range fillStatements {
		// The awards get times 50 µs apart, up to now.
		first := begin.Add(-time.Duration(part*(fillStatements-n)) * 50 * time.Microsecond)
		salt := fmt.Sprintf("%d ", first.UnixNano())
		hash, uuid := fmt.Sprintf(f.hash, salt), "4"
		if c.keys == keysOrdered {
			hash, uuid = fmt.Sprintf("concat("+f.hex+", substr("+f.hash+", 13))", first.UnixMilli(), salt), "7"
		}
		statements <- fmt.Sprintf(moreAwardsSQL, part, f.once, hash, poolOf(c), version+1+int64(n*part), uuid,
			issued+1+int64(n*part/prizesUsual), begin.UTC().Format(f.at))
	}
	close(statements)
	for range f.sessions {
		sessions.Go(func() {
			for text := range statements {
				if err := onSession(ctx, db, append(slices.Clone(f.before), text)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	sessions.Wait()
	close(errs)
	return <-errs // nil if there is none
}

// book adds a number of awards of each prize to the counters of the pool and its
// prizes, and returns the previous counters.
func book(ctx context.Context, db *sql.DB, pool string, awards int) (version, issued int64, err error) {
	marked, err := hasColumn(ctx, db, "pools", "mark")
	if err != nil {
		return 0, 0, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for text, into := range map[string]*int64{
		`SELECT version FROM pools WHERE id = '` + pool + `'`:                         &version,
		`SELECT issued FROM prizes WHERE pool_id = '` + pool + `' AND id = 'prize-0'`: &issued,
	} {
		if err := tx.QueryRowContext(ctx, text).Scan(into); err != nil {
			return 0, 0, err
		}
	}
	mark := "" // every version has its own mark
	if marked {
		mark = fmt.Sprintf(", mark = %d", rand.Int64())
	}
	for _, text := range []string{
		fmt.Sprintf(`UPDATE pools SET version = version + %d%s WHERE id = '%s'`, awards, mark, pool),
		fmt.Sprintf(`UPDATE prizes SET issued = issued + %d, changed = %d WHERE pool_id = '%s'`, awards/prizesUsual, version+int64(awards), pool),
	} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return 0, 0, err
		}
	}
	return version, issued, tx.Commit()
}

// hasColumn reports whether a table has a column, because the schema of another tree may
// differ.
func hasColumn(ctx context.Context, db *sql.DB, table, column string) (bool, error) {
	rows, err := db.QueryContext(ctx, `SELECT * FROM `+table+` WHERE 1 = 0`)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return false, err
	}
	return slices.Contains(columns, column), rows.Err()
}
