package postgres

import (
	//double:counts-before "fmt" => "fmt"; "strings"
	"fmt"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// statements are the texts of the statements, in the form of one dialect.
type statements struct {
	// row reads a pool's row, rows the rows of several pools. lock locks a pool's row.
	row, rows, lock string
	// writable reads whether the server can be written to.
	writable string
	// draws finds draws by their ids.
	draws string
	// write is the guarded write of one plan, and writeShared is that of several plans.
	write, writeShared string
	// turns and redirects write the data of a plan that the rules count; needs reads that
	// data.
	turns, redirects, needs string
	// head reads a pool's head, whether its agenda is due, and whether the server can
	// be written to.
	head string
}

func newStatements(d *engine.Dialect, awards engine.Log[draw.Award]) statements {
	row := engine.RowColumns(d) + ` FROM pools WHERE `
	return statements{
		row: `SELECT ` + row + `id = $1`, rows: `SELECT id, ` + row + `id = ANY ($1)`,
		lock:     `SELECT FROM pools WHERE id = $1` + d.ForUpdate,
		writable: `SELECT ` + d.Writable,
		draws:    fmt.Sprintf(sqlDraws, engine.ReadAwards(awards), draw.CountMax, d.AwardPrize),
		write: fmt.Sprintf(sqlWrite, d.NotDue(""), awards.InsertFrom(fmt.Sprintf(sqlAwards,
			awards.Names("a."), awards.Arrays(sqlWriteArgs+1), awards.Names("")))),
		writeShared: fmt.Sprintf(sqlWriteShared, d.NotDue("pools."), d.ForUpdate, awards.InsertFrom(fmt.Sprintf(sqlAwardsShared,
			awards.Names("a."), awards.Arrays(sqlWriteSharedArgs+1), awards.Names("")))),
		//double:counts-before insertMade(engine.Turns(), "$4::timestamptz, ", 5) => strings.Replace(insertMade(engine.Turns(), "$4::timestamptz, ", 5), "a.seq", "(SELECT count(*) FROM turns AS t WHERE t.pool_id = $1 AND t.user_id = a.user_id AND t.what = a.what) + row_number() OVER (PARTITION BY a.user_id, a.what ORDER BY a.seq)", 1)
		turns:     insertMade(engine.Turns(), "$4::timestamptz, ", 5),
		redirects: insertMade(engine.Redirects(), "", 4),
		head:      fmt.Sprintf(sqlHead, d.IsDue(), d.Writable),
		needs:     fmt.Sprintf(sqlNeeds, engine.Turns().Read("t.")),
	}
}

// insertMade returns a statement that inserts rows after a write, if the write was made.
// Then the pool is at the head to which the write moved it. The rows are lists, in the
// parameters from $first on.
func insertMade[T any](log engine.Log[T], at string, first int) string {
	return log.InsertFrom(fmt.Sprintf(`SELECT pools.id, %s%s FROM unnest(%s) AS a (%s), pools
	WHERE pools.id = $1 AND pools.version = $2 AND pools.mark = $3`, at, log.Names("a."), log.Arrays(first), log.Names("")))
}

const (
	// The isolation is explicit because the write must see rows that were committed
	// while it waited for the lock.
	sqlBegin = `BEGIN ISOLATION LEVEL READ COMMITTED`

	// A read-only role or database has "on" as the default.
	//double:trusts-standbys NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off' => TRUE
	sqlWritable = `NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'`

	// The subqueries are evaluated once, so a pool that has not changed costs no read of
	// its prizes. Each prize comes with the version of the pool at the time of the read.
	sqlPrizes = engine.SelectPrizes + `, (SELECT version FROM pools WHERE id = $1) FROM prizes
WHERE pool_id = $1 AND changed > $2 AND (SELECT version FROM pools WHERE id = $1) <> $2
ORDER BY added`

	// It is one statement, so that it writes all or nothing. It writes the pool's row
	// first, and the other rows only if the pool was at the planned version. The last
	// column divides by zero if the counts of rows differ from the plan, which never
	// happens in an intact database. With OFFSET, the planner reads the list of changes
	// once, and finds each prize by key. Without it, the planner would read the prizes of
	// the pool first, and search the list for each.
	//double:versions-only AND mark = $10 => AND $10::bigint IS NOT NULL
	sqlWrite = `WITH pool AS (
	UPDATE pools SET version = version + $3, mark = $11, trail = $12, at = $8,
		fence = CASE WHEN $5 = '' THEN fence ELSE $4 END, fenced_by = CASE WHEN $5 = '' THEN fenced_by ELSE $5 END
	WHERE id = $1 AND version = $2 AND mark = $10 AND state = 'open'%s
		AND ($5 = '' OR fenced_by <> $5 OR fence <= $9)
	RETURNING id
), changed AS (
	UPDATE prizes SET issued = prizes.issued + change.issued, changed = $2 + $3
	FROM (SELECT pool.id AS pool_id, c.id, c.issued FROM unnest($6::text[], $7::bigint[]) AS c (id, issued), pool OFFSET 0) AS change
	WHERE prizes.pool_id = change.pool_id AND prizes.id = change.id
	RETURNING 1
), awarded AS (
	%s
	RETURNING 1
)
SELECT (SELECT count(*) FROM pool),
	1 / (CASE WHEN NOT EXISTS (SELECT FROM pool)
		OR (SELECT count(*) FROM changed) = cardinality($6::text[]) AND (SELECT count(*) FROM awarded) = $3
		THEN 1 ELSE 0 END)`

	sqlSpend = `UPDATE pools SET spent = $4, spent_from = $5 WHERE id = $1 AND version = $2 AND mark = $3`

	// As in sqlWrite, the counts must be the planned ones, and OFFSET makes the planner
	// read the list once.
	sqlTake = `WITH took AS (
	UPDATE agenda SET taken = take.version
	FROM (SELECT pools.id AS pool_id, t.item, t.version FROM unnest($4::bigint[], $5::bigint[]) AS t (item, version), pools
		WHERE pools.id = $1 AND pools.version = $2 AND pools.mark = $3 OFFSET 0) AS take
	WHERE agenda.pool_id = take.pool_id AND agenda.item = take.item AND agenda.taken = 0
	RETURNING 1
)
SELECT 1 / (CASE WHEN NOT EXISTS (SELECT FROM pools WHERE id = $1 AND version = $2 AND mark = $3)
	OR (SELECT count(*) FROM took) = cardinality($4::bigint[]) THEN 1 ELSE 0 END)`

	sqlMoments = `SELECT item, done, body FROM agenda WHERE pool_id = $1 AND what = 'moment' AND done BETWEEN $2 AND $3 AND taken = 0
ORDER BY done, item`

	sqlRules = `SELECT body FROM changes WHERE pool_id = $1 AND version = $2`
	sqlPause = `SELECT body FROM changes WHERE pool_id = $1 AND what = 'state' AND version <= $2 ORDER BY version DESC LIMIT 1`

	// For a transaction by key. It reads the last turn of each subject and kind, and the
	// turns that may leave the windows of that kind. OFFSET makes each window a search by
	// key: without it, the planner may read all turns of the subject.
	//double:counts-before n.what ORDER BY seq DESC LIMIT 1 => n.what AND at < clock_timestamp() - interval '200 ms' ORDER BY seq DESC LIMIT 1
	sqlNeeds = `SELECT %s
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS n (user_id, what, units)
CROSS JOIN LATERAL (
	SELECT * FROM turns WHERE pool_id = $1 AND user_id = n.user_id AND what = n.what ORDER BY seq DESC LIMIT 1
) AS last
CROSS JOIN LATERAL (
	SELECT last.*
	UNION ALL
	SELECT old.* FROM unnest($5::text[], $6::bigint[]) AS w (what, max)
	CROSS JOIN LATERAL (
		SELECT * FROM turns WHERE pool_id = $1 AND user_id = n.user_id AND what = n.what
			AND seq BETWEEN last.seq + 1 - w.max AND LEAST(last.seq - 1, last.seq + n.units - w.max) OFFSET 0
	) AS old
	WHERE w.what = n.what AND w.max < last.seq + n.units
) AS t`
	sqlHead = `SELECT version, mark, %s, %s FROM pools WHERE id = $1`

	// sqlAwards selects the awards of a plan. Their columns are lists, in the parameters
	// after those of sqlWrite.
	sqlAwards = `SELECT pool.id, $8::timestamptz, %s
	FROM unnest(%s) AS a (%s), pool`
	sqlWriteArgs = 12

	// For a transaction by key. Each name is looked up separately, and ordered so that
	// only the key of names fits. For draw_id = ANY ($2), on a table without statistics,
	// PostgreSQL uses the index on version, and filters the pool's whole log.
	sqlDraws = `SELECT %s
FROM unnest($2::text[]) AS k (id)
CROSS JOIN LATERAL (
	SELECT * FROM awards WHERE pool_id = $1 AND draw_id = k.id ORDER BY ordinal LIMIT %d
) AS a
%s
ORDER BY a.draw_id, a.ordinal`

	sqlPoolsPrizes = `SELECT prizes.pool_id, prizes.id, prizes.name, prizes.value, prizes.stocked, prizes.issued, prizes.kind, prizes.codes, pools.version
FROM unnest($1::text[], $2::bigint[]) AS seen (id, version)
JOIN pools ON pools.id = seen.id AND pools.version <> seen.version
JOIN prizes ON prizes.pool_id = seen.id AND prizes.changed > seen.version
ORDER BY prizes.pool_id, prizes.added`

	// Like sqlWrite, but for many pools. Each pool is written only if it is at the
	// planned version and its log has none of the keys. If another session adds one of
	// the keys at the same time, the insert fails. A row that another session is writing
	// will not be at the planned version, so the statement does not wait for it. Two such
	// statements never wait for each other. IS TRUE makes the planner use a hash: without
	// statistics, it would join two lists by nested loops.
	//double:versions-only AND pools.mark = planned.mark =>
	sqlWriteShared = `WITH known AS (
	SELECT k.pool_id FROM unnest($13::text[], $14::text[]) AS k (pool_id, draw_id)
	CROSS JOIN LATERAL (SELECT FROM awards WHERE pool_id = k.pool_id AND draw_id = k.draw_id LIMIT 1) AS one
), held AS (
	SELECT pools.id, planned.version, planned.draws, planned.prizes, planned.made, planned.trail
	FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $11::bigint[], $12::bigint[], $15::bytea[])
		AS planned (id, version, draws, prizes, mark, made, trail)
	JOIN pools ON pools.id = planned.id AND pools.version = planned.version AND pools.mark = planned.mark
	WHERE pools.state = 'open'%s
		AND (planned.id IN (SELECT pool_id FROM known)) IS NOT TRUE
	%s OF pools SKIP LOCKED
), pool AS (
	UPDATE pools SET version = pools.version + held.draws, mark = held.made, trail = held.trail, at = $8
	FROM held WHERE pools.id = held.id AND pools.version = held.version
	RETURNING pools.id, held.draws, held.prizes
), changed AS (
	UPDATE prizes SET issued = prizes.issued + change.issued, changed = change.version
	FROM unnest($5::text[], $6::text[], $7::bigint[], $10::bigint[]) AS change (pool_id, id, issued, version)
	WHERE (change.pool_id IN (SELECT id FROM pool)) IS TRUE
		AND prizes.pool_id = change.pool_id AND prizes.id = change.id
	RETURNING 1
), awarded AS (
	%s
	RETURNING 1
)
SELECT coalesce((SELECT array_agg(id) FROM pool), '{}'),
	1 / (CASE WHEN (SELECT count(*) FROM changed) = (SELECT coalesce(sum(prizes), 0) FROM pool)
		AND (SELECT count(*) FROM awarded) = (SELECT coalesce(sum(draws), 0) FROM pool)
		THEN 1 ELSE 0 END)`

	sqlAwardsShared = `SELECT a.pool_id, $8::timestamptz, %s
	FROM unnest($9::text[], %s) AS a (pool_id, %s)
	WHERE (a.pool_id IN (SELECT id FROM pool)) IS TRUE`
	sqlWriteSharedArgs = 15
)

const (
	// sqlByKey makes the planner find every row of a transaction through a key, and in
	// the key's order. By default the planner uses statistics, which are missing or old
	// for a table that was just filled. Then it assumes that a pool has one or two rows.
	// It reads or sorts all rows of the pool for each page, or for each row of another
	// table. Sorts are off, so that a query's ORDER BY determines the key. JIT
	// compilation is off because the high cost of the forbidden plans would trigger it.
	sqlByKey = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
	set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`

	// sqlAwardPrize is AwardPrize for a transaction by key. It takes the first prize
	// whose id is not below the award's: only the primary key has this order. With id =
	// a.prize_id, the planner may assume that the pool has one prize and use the key of
	// pool_id and added. Then it reads all prizes of the pool for each award.
	sqlAwardPrize = `LEFT JOIN LATERAL (
	SELECT id, name, value, kind FROM prizes WHERE pool_id = a.pool_id AND id >= a.prize_id ORDER BY id LIMIT 1
) AS p ON p.id = a.prize_id`

	// sqlTurnAward is TurnAward for a transaction by key, for the same reason.
	sqlTurnAward = `LEFT JOIN LATERAL (
	SELECT * FROM awards WHERE pool_id = t.pool_id AND version >= t.version ORDER BY version LIMIT 1
) AS a ON a.version = t.version`

	// sqlNamedAwards and sqlStepsOf are NamedAwards and StepsOf, for a transaction by key.
	// With draw_id = ANY (…), the planner may read all awards of a table without
	// statistics. The order that only one key has determines the key to use.
	sqlNamedAwards = `CROSS JOIN unnest(?::text[]) AS k (id)
CROSS JOIN LATERAL (SELECT * FROM awards WHERE pool_id = own.id AND draw_id = k.id ORDER BY ordinal OFFSET 0) AS a`
	sqlStepsOf = `CROSS JOIN unnest(?::bigint[]) AS k (version)
CROSS JOIN LATERAL (SELECT * FROM steps WHERE pool_id = own.id AND award = k.version ORDER BY seq OFFSET 0) AS s`

	// sqlCodeRanges is CodeRanges.
	sqlCodeRanges = `SELECT w.prize_id, c.place, c.key_id, c.sealed FROM unnest($2::text[], $3::bigint[], $4::bigint[])` + sqlOfRanges

	// sqlOfRanges reads the codes of ranges. OFFSET keeps each range a scan of the key.
	// Without it, the planner would join the codes with the list in another order.
	sqlOfRanges = ` AS w (prize_id, first, last)
CROSS JOIN LATERAL (
	SELECT place, key_id, sealed FROM codes WHERE pool_id = $1 AND prize_id = w.prize_id AND place BETWEEN w.first AND w.last OFFSET 0
) AS c`

	// sqlWrittenCodes reads the codes of a write's awards after its COMMIT. It reads none
	// if the pool is not at the head to which the write moved it. The lists are in
	// subqueries, so that the planner cannot see their lengths. Otherwise the plan for a
	// short list would seem cheaper than the plan for any list, and the planner would
	// plan again for each write. That would take a third of the time. The kept plan finds
	// codes by their key, see queueCodes.
	//double:reads-in-conflict (SELECT mark FROM pools WHERE id = $1) = $5 => $5::bigint IS NOT NULL
	sqlWrittenCodes = `SELECT w.prize_id, c.place, c.key_id, c.sealed
FROM unnest((SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::bigint[]))` + sqlOfRanges + `
WHERE (SELECT mark FROM pools WHERE id = $1) = $5`
)
