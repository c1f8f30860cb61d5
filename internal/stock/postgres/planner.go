package postgres

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

	// sqlCodeRanges is CodeRanges. OFFSET keeps each range a scan of the key. Without
	// it, the planner would join the codes with the list in another order.
	sqlCodeRanges = `SELECT w.prize_id, c.place, c.key_id, c.sealed FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS w (prize_id, first, last)
CROSS JOIN LATERAL (
	SELECT place, key_id, sealed FROM codes WHERE pool_id = $1 AND prize_id = w.prize_id AND place BETWEEN w.first AND w.last OFFSET 0
) AS c`
)
