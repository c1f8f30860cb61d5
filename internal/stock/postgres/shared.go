package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

// shared is an attempt at several pools.
type shared struct {
	tx  *attempt
	all map[string]*engine.SharedPool // by pool
}

// ReadShared implements engine.Sharers. The first round trip reads the pools that are not
// planned from the cached copy.
func (t *attempts) ReadShared(ctx context.Context, all []engine.SharedPool, o engine.TxOptions) (engine.SharedTx, []bool, error) {
	tx, err := t.acquire(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	j := &shared{tx, make(map[string]*engine.SharedPool, len(all))}
	place := make(map[string]int, len(all))
	ready := make([]bool, len(all))
	var unread []engine.SharedPool
	for i := range all {
		j.all[all[i].Urn.PoolID] = &all[i]
		ready[i] = all[i].Cached
		if !all[i].Cached {
			place[all[i].Urn.PoolID] = i
			unread = append(unread, all[i])
		}
	}
	if len(unread) == 0 {
		return j, ready, nil
	}
	found, err := j.read(ctx, unread)
	if err != nil {
		j.Rollback()
		return nil, nil, err
	}
	for i, l := range unread {
		ready[place[l.Urn.PoolID]] = found[i]
	}
	return j, ready, nil
}

func (j *shared) read(ctx context.Context, all []engine.SharedPool) (ready []bool, err error) {
	place := make(map[string]int, len(all))
	ids, versions := make([]string, len(all)), make([]int64, len(all))
	for i, a := range all {
		place[a.Urn.PoolID], ids[i], versions[i] = i, a.Urn.PoolID, a.Urn.Version
	}
	batch := &pgx.Batch{}
	j.tx.begin(batch)
	pools := j.tx.dialect.WithColumns(j.tx.words.rows)
	if j.tx.options.Lock {
		pools += j.tx.dialect.ForUpdate + " SKIP LOCKED"
	}
	batch.Queue(pools, ids)
	batch.Queue(j.tx.dialect.WithCodes(sqlPoolsPrizes), ids, versions)
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
		ready[i] = rows[i] != nil && rows[i].LacksRules(a.Urn) == 0 && !rows[i].LacksPause(a.Urn) && !rows[i].LacksMoments(a.Urn) && rows[i].Merge(a.Urn, prizes[i], nil, j.tx.options) == nil
	}
	return ready, nil
}

// scanShared reads the rows of pools and their changed prizes. A row is nil if it is
// missing, or if the pool was read at two versions.
func scanShared(results pgx.BatchResults, place map[string]int, n int) (rows []*engine.Row, prizes [][]draw.Prize, err error) {
	rows, prizes = make([]*engine.Row, n), make([][]draw.Prize, n)
	var id string
	var row engine.Row
	found, err := results.Query()
	if err != nil {
		return nil, nil, err
	}
	_, err = pgx.ForEachRow(found, append([]any{&id}, row.Fields()...), func() error {
		rows[place[id]] = row.Clone()
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
	var at int64
	_, err = pgx.ForEachRow(changed, append([]any{&id}, engine.PrizeFieldsAt(&p, &at)...), func() error {
		i := place[id]
		if prizes[i] = append(prizes[i], p); rows[i] != nil && rows[i].Version() != at {
			rows[i] = nil // see engine.ErrTorn
		}
		return nil
	})
	return rows, prizes, err
}

// Write implements engine.SharedTx: the second round trip, or the only one.
func (j *shared) Write(ctx context.Context, plans []*urn.Plan) ([]bool, error) {
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
		return nil, engine.AtCommit(err, classify)
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

func (j *shared) arguments(plans []*urn.Plan) []any {
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
		counts, prizeCounts = append(counts, int64(len(p.Awards))), append(prizeCounts, int64(len(p.Raises)))
		for _, c := range p.Raises {
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

// Rollback implements engine.SharedTx.
func (j *shared) Rollback() { j.tx.Rollback() }
