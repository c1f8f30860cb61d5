package stock

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw"
)

const (
	postgresPoolsPrizes = `SELECT prizes.pool_id, prizes.id, prizes.name, prizes.value, prizes.stocked, prizes.issued
FROM unnest($1::text[], $2::bigint[]) AS seen (id, version)
JOIN pools ON pools.id = seen.id AND pools.version <> seen.version
JOIN prizes ON prizes.pool_id = seen.id AND prizes.changed > seen.version
ORDER BY prizes.pool_id, prizes.added`

	// As postgresWrite, for many pools: each is written only from the version
	// that was planned from, and only if its log knows none of the keys; one
	// that comes into the log meanwhile fails the insert. A row that somebody else is writing will not be at
	// that version, and is not waited for, so that two of these never wait for
	// each other. IS TRUE keeps the planner from making joins of what is better
	// looked up in a hash: joins of two lists, without statistics, would be
	// nested loops.
	postgresWriteShared = `WITH known AS (
	SELECT k.pool_id FROM unnest($13::text[], $14::text[]) AS k (pool_id, draw_id)
	CROSS JOIN LATERAL (SELECT FROM awards WHERE pool_id = k.pool_id AND draw_id = k.draw_id LIMIT 1) AS one
), held AS (
	SELECT pools.id, planned.version, planned.draws, planned.prizes, planned.made, planned.trail
	FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $11::bigint[], $12::bigint[], $15::bytea[])
		AS planned (id, version, draws, prizes, mark, made, trail)
	JOIN pools ON pools.id = planned.id AND pools.version = planned.version AND pools.mark = planned.mark
	WHERE pools.state = 'open'
		AND (planned.id IN (SELECT pool_id FROM known)) IS NOT TRUE
	%s OF pools SKIP LOCKED
), pool AS (
	UPDATE pools SET version = pools.version + held.draws, mark = held.made, trail = held.trail
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
)

// postgresShared is a postgresTx over the rows of several pools.
type postgresShared struct {
	tx  *postgresTx
	all map[string]*SharedPool // by pool
}

// ReadShared is the first round trip, for the pools that are not planned from the cached copy.
func (t *postgresAttempts) ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (SharedTx, []bool, error) {
	tx, err := t.acquire(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	j := &postgresShared{tx, make(map[string]*SharedPool, len(all))}
	place := make(map[string]int, len(all))
	ready := make([]bool, len(all))
	var looks []SharedPool
	for i := range all {
		j.all[all[i].Urn.PoolID] = &all[i]
		ready[i] = all[i].Cached
		if !all[i].Cached {
			place[all[i].Urn.PoolID] = i
			looks = append(looks, all[i])
		}
	}
	if len(looks) == 0 {
		return j, ready, nil
	}
	found, err := j.read(ctx, looks)
	if err != nil {
		j.Rollback()
		return nil, nil, err
	}
	for i, l := range looks {
		ready[place[l.Urn.PoolID]] = found[i]
	}
	return j, ready, nil
}

func (j *postgresShared) read(ctx context.Context, all []SharedPool) (ready []bool, err error) {
	place := make(map[string]int, len(all))
	ids, versions := make([]string, len(all)), make([]int64, len(all))
	for i, a := range all {
		place[a.Urn.PoolID], ids[i], versions[i] = i, a.Urn.PoolID, a.Urn.Version
	}
	batch := &pgx.Batch{}
	j.tx.begin(batch)
	pools := j.tx.words.rows
	if j.tx.options.Lock {
		pools += j.tx.dialect.ForUpdate + " SKIP LOCKED"
	}
	batch.Queue(pools, ids)
	batch.Queue(postgresPoolsPrizes, ids, versions)
	results := j.tx.conn.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if err := j.tx.begun(results); err != nil {
		return nil, err
	}
	rows, prizes, err := scanShared(results, place, len(all))
	if err != nil {
		return nil, err
	}
	ready = make([]bool, len(all))
	for i, a := range all {
		ready[i] = rows[i] != nil && seen(a.Urn, *rows[i], prizes[i], j.tx.options) == nil
	}
	return ready, nil
}

// scanShared reads the rows of pools, nil for those that are missing, and their
// changed prizes.
func scanShared(results pgx.BatchResults, place map[string]int, n int) (rows []*poolRow, prizes [][]draw.Prize, err error) {
	rows, prizes = make([]*poolRow, n), make([][]draw.Prize, n)
	var id string
	var row poolRow
	found, err := results.Query()
	if err != nil {
		return nil, nil, err
	}
	_, err = pgx.ForEachRow(found, append([]any{&id}, row.columns()...), func() error {
		one := row
		one.trail = slices.Clone(row.trail)
		rows[place[id]] = &one
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	changed, err := results.Query()
	if err != nil {
		return nil, nil, err
	}
	var p draw.Prize
	_, err = pgx.ForEachRow(changed, []any{&id, &p.ID, &p.Name, &p.Value, &p.Stocked, &p.Issued}, func() error {
		prizes[place[id]] = append(prizes[place[id]], p)
		return nil
	})
	return rows, prizes, err
}

// Write implements SharedTx: the second round trip, or the only one.
func (j *postgresShared) Write(ctx context.Context, plans []*draw.Plan) ([]bool, error) {
	batch := &pgx.Batch{}
	opening := !j.tx.open
	if opening {
		j.tx.begin(batch)
	}
	batch.Queue(j.tx.words.writeShared, j.arguments(plans)...)
	batch.Queue(`COMMIT`)
	results := j.tx.conn.SendBatch(ctx, batch)
	var pools []string
	var one int64
	var err error
	if opening {
		err = j.tx.begun(results)
	}
	if err == nil {
		err = results.QueryRow().Scan(&pools, &one)
	}
	if err == nil {
		err = j.tx.committed(results)
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return nil, atCommit(err, classifyPostgres)
	}
	j.tx.open = false
	written := make(map[string]bool, len(pools))
	for _, id := range pools {
		written[id] = true
	}
	applied := make([]bool, len(plans))
	for i, p := range plans {
		applied[i] = written[p.PoolID]
	}
	return applied, nil
}

func (j *postgresShared) arguments(plans []*draw.Plan) []any {
	n := len(plans)
	ids := make([]string, 0, n)
	versions, counts, prizeCounts := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	var changePools, changePrizes, awardPools []string
	var issued, changeVersions []int64
	var marks, made []int64
	var trails [][]byte
	var keyed, keys []string
	awards := make([][]draw.Award, n)
	for i, p := range plans {
		marks, made, trails = append(marks, p.From.Mark), append(made, p.To.Mark), append(trails, []byte(p.To.Trail))
		for _, key := range j.all[p.PoolID].Keys {
			keyed, keys = append(keyed, p.PoolID), append(keys, key)
		}
		ids, versions = append(ids, p.PoolID), append(versions, p.From.Version)
		counts, prizeCounts = append(counts, int64(len(p.Awards))), append(prizeCounts, int64(len(p.Changes)))
		for _, c := range p.Changes {
			changePools, changePrizes, issued = append(changePools, p.PoolID), append(changePrizes, c.PrizeID), append(issued, c.Issued)
			changeVersions = append(changeVersions, p.To.Version)
		}
		awards[i] = p.Awards
		for range p.Awards {
			awardPools = append(awardPools, p.PoolID)
		}
	}
	return append([]any{
		ids, versions, counts, prizeCounts, changePools, changePrizes, issued, plans[0].Awards[0].At, awardPools,
		changeVersions, marks, made, keyed, keys, trails,
	}, j.tx.awards.Lists(awards...)...)
}

// Rollback implements SharedTx.
func (j *postgresShared) Rollback() { j.tx.Rollback() }
