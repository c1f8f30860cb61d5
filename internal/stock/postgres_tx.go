package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
)

// postgresAttempts draw with pgx itself, whose pipeline makes a batch two round
// trips, lock and read, write and commit, or one when it was planned from the
// cached copy.
type postgresAttempts struct {
	pool    *pgxpool.Pool
	dialect *Dialect
	awards  Log[draw.Award]
	// limits is the statement that bounds a transaction.
	limits string
	words  postgresWords
}

// postgresWords are the statements in the words of a dialect.
type postgresWords struct {
	// row and rows read a pool's row and those of several, lock locks one.
	row, rows, lock string
	// writable says whether the server can be written.
	writable string
	// draws finds draws by their ids.
	draws string
	// write and writeShared are the guarded writes of one plan and of several.
	write, writeShared string
}

func newPostgresAttempts(d *Dialect, pool *pgxpool.Pool, limits string) *postgresAttempts {
	awards := Awards()
	row := poolColumns(d.Writable) + ` FROM pools WHERE `
	return &postgresAttempts{pool: pool, dialect: d, awards: awards, limits: limits, words: postgresWords{
		row: `SELECT ` + row + `id = $1`, rows: `SELECT id, ` + row + `id = ANY ($1)`,
		lock:     `SELECT FROM pools WHERE id = $1` + d.ForUpdate,
		writable: `SELECT ` + d.Writable,
		draws:    fmt.Sprintf(postgresDraws, ReadAwards(awards), draw.CountMax, d.AwardPrize),
		write: fmt.Sprintf(postgresWrite, awards.InsertFrom(fmt.Sprintf(
			`SELECT pool.id, $8::timestamptz, %s FROM unnest(%s) AS a (%s), pool`, awards.Names("a."), awards.Arrays(13), awards.Names("")))),
		writeShared: fmt.Sprintf(postgresWriteShared, d.ForUpdate, awards.InsertFrom(fmt.Sprintf(
			`SELECT a.pool_id, $8::timestamptz, %s FROM unnest($9::text[], %s) AS a (pool_id, %s)
	WHERE (a.pool_id IN (SELECT id FROM pool)) IS TRUE`, awards.Names("a."), awards.Arrays(16), awards.Names("")))),
	}}
}

type postgresTx struct {
	*postgresAttempts
	conn    *pgxpool.Conn
	options TxOptions
	// open says that a transaction is open on the connection, found that Draws
	// has found any.
	open, found bool
}

const (
	// The isolation is said aloud because the write after the lock must see
	// what was committed while it waited.
	postgresBegin = `BEGIN ISOLATION LEVEL READ COMMITTED`

	// In a read-only role or database the default is on.
	postgresWritable = `NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'`

	// The subquery is evaluated once: a pool that has not changed costs no
	// look at its prizes.
	postgresPrizes = `SELECT ` + prizeColumns + ` FROM prizes
WHERE pool_id = $1 AND changed > $2 AND (SELECT version FROM pools WHERE id = $1) <> $2
ORDER BY added`

	// One statement, so that it writes all or nothing: the pool's row first,
	// and the others only when that one was at the planned version. The last
	// column divides by zero when the counts of rows are not those planned,
	// which a database in order never does. OFFSET keeps the changes one list,
	// so that each looks its prize up: the planner would else find the prizes
	// of the pool first, and go through the list for each.
	postgresWrite = `WITH pool AS (
	UPDATE pools SET version = version + $3, mark = $11, trail = $12,
		fence = CASE WHEN $5 = '' THEN fence ELSE $4 END, fenced_by = CASE WHEN $5 = '' THEN fenced_by ELSE $5 END
	WHERE id = $1 AND version = $2 AND mark = $10 AND state = 'open'
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

	// For a transaction by key. Each name is looked up by itself, and in an
	// order that only the key of names has: with draw_id = ANY ($2), a table
	// that has no statistics yet is searched through the index on version, and
	// the pool's whole log is filtered.
	postgresDraws = `SELECT %s
FROM unnest($2::text[]) AS k (id)
CROSS JOIN LATERAL (
	SELECT * FROM awards WHERE pool_id = $1 AND draw_id = k.id ORDER BY ordinal LIMIT %d
) AS a
%s
ORDER BY a.draw_id, a.ordinal`
)

func (t *postgresAttempts) acquire(ctx context.Context, o TxOptions) (*postgresTx, error) {
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &postgresTx{postgresAttempts: t, conn: conn, options: o}, nil
}

// Read is the first round trip.
func (t *postgresAttempts) Read(ctx context.Context, urn *draw.Urn, o TxOptions) (Tx, error) {
	tx, err := t.acquire(ctx, o)
	if err != nil {
		return nil, err
	}
	row, prizes, err := tx.readSince(ctx, urn)
	if errors.Is(err, pgx.ErrNoRows) {
		err = cmp.Or(tx.checkWritable(ctx), errPoolNotFound(urn.PoolID))
	}
	if err == nil {
		err = seen(urn, row, prizes, o)
	}
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// Write is the only round trip.
func (t *postgresAttempts) Write(ctx context.Context, p *draw.Plan, o TxOptions) error {
	tx, err := t.acquire(ctx, o)
	if err != nil {
		return classify(err, classifyPostgres)
	}
	defer tx.Rollback()
	return tx.Write(ctx, p)
}

// checkWritable is nil on a server that can be written.
func (tx *postgresTx) checkWritable(ctx context.Context) error {
	var writable bool
	if err := tx.conn.QueryRow(ctx, tx.words.writable).Scan(&writable); err != nil {
		return err
	}
	if !writable {
		return errReadOnlyServer()
	}
	return nil
}

func (tx *postgresTx) readSince(ctx context.Context, urn *draw.Urn) (row poolRow, prizes []draw.Prize, err error) {
	batch := &pgx.Batch{}
	pool := tx.words.row
	if tx.options.Lock {
		tx.begin(batch)
		pool += tx.dialect.ForUpdate
	}
	batch.Queue(pool, urn.PoolID)
	batch.Queue(postgresPrizes, urn.PoolID, urn.Version)
	results := tx.conn.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if tx.options.Lock {
		if err := tx.begun(results); err != nil {
			return row, nil, err
		}
	}
	if err := results.QueryRow().Scan(row.columns()...); err != nil {
		return row, nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return row, nil, err
	}
	prizes, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (draw.Prize, error) { return scanPrize(r) })
	return row, prizes, err
}

// begin puts the beginning of a transaction into a pipeline.
func (tx *postgresTx) begin(batch *pgx.Batch) {
	batch.Queue(postgresBegin)
	batch.Queue(tx.limits)
	tx.open = true
}

// begun reads the answers to begin.
func (tx *postgresTx) begun(results pgx.BatchResults) error {
	for range 2 {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}

// beginLocked is begin, with the lock that the options ask for.
func (tx *postgresTx) beginLocked(batch *pgx.Batch, poolID string) {
	tx.begin(batch)
	if tx.options.Lock {
		batch.Queue(tx.words.lock, poolID)
	}
}

// begunLocked reads the answers to beginLocked.
func (tx *postgresTx) begunLocked(results pgx.BatchResults) error {
	err := tx.begun(results)
	if err == nil && tx.options.Lock {
		_, err = results.Exec()
	}
	return err
}

// Draws implements Tx. Without a lock it asks the server in the same round
// trip whether it can be written.
func (tx *postgresTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	draws, err := tx.draws(ctx, poolID, ids)
	tx.found = tx.found || len(draws) > 0
	return draws, classify(err, classifyPostgres)
}

// draws is one round trip. Where no transaction is open, the pipeline is one.
func (tx *postgresTx) draws(ctx context.Context, poolID string, ids []string) (draws map[string]draw.Draw, err error) {
	batch := &pgx.Batch{}
	batch.Queue(tx.dialect.ByKey)
	batch.Queue(tx.words.writable)
	batch.Queue(tx.words.draws, poolID, ids)
	results := tx.conn.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	var writable bool
	if err := results.QueryRow().Scan(&writable); err != nil {
		return nil, err
	}
	if !writable {
		return nil, errReadOnlyServer()
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	draws = map[string]draw.Draw{}
	_, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (struct{}, error) {
		a, err := ScanAward(tx.awards, r)
		collect(draws, poolID, a)
		return struct{}{}, err
	})
	return draws, err
}

// Write implements Tx: the second round trip, or the only one.
func (tx *postgresTx) Write(ctx context.Context, p *draw.Plan) error {
	if len(p.Awards) == 0 {
		return tx.confirm(ctx)
	}
	if fault.Armed(fault.BeforeCommit) {
		return tx.writeSplit(ctx, p)
	}
	batch := &pgx.Batch{}
	opening := !tx.open
	if opening {
		tx.beginLocked(batch, p.PoolID)
	}
	batch.Queue(fault.Unguarded(tx.words.write), tx.arguments(p)...)
	batch.Queue(`COMMIT`)
	results := tx.conn.SendBatch(ctx, batch)
	var pools, one int64
	var err error
	if opening {
		err = tx.begunLocked(results)
	}
	if err == nil {
		err = results.QueryRow().Scan(&pools, &one)
	}
	if err == nil {
		err = tx.committed(results)
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return atCommit(err, classifyPostgres)
	}
	tx.open = false
	if pools == 0 {
		return ErrConflict
	}
	return nil
}

func (tx *postgresTx) arguments(p *draw.Plan) []any {
	changedIDs, changedBy := make([]string, len(p.Changes)), make([]int64, len(p.Changes))
	for i, c := range p.Changes {
		changedIDs[i], changedBy[i] = c.PrizeID, c.Issued
	}
	f := tx.options.Fence
	return append([]any{
		p.PoolID, p.From.Version, int64(len(p.Awards)), f.Token, f.Lock, changedIDs, changedBy, p.Awards[0].At,
		f.tokenMax(), p.From.Mark, p.To.Mark, []byte(p.To.Trail),
	}, tx.awards.Lists(p.Awards)...)
}

// Rollback implements Tx.
func (tx *postgresTx) Rollback() {
	if tx.conn == nil {
		return
	}
	if tx.open && !tx.conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		// An error closes the connection, and that frees the lock as well.
		if _, err := tx.conn.Exec(ctx, `ROLLBACK`); err != nil {
			_ = tx.conn.Conn().Close(ctx)
		}
		cancel()
	}
	tx.conn.Release()
	tx.conn, tx.open = nil, false
}
