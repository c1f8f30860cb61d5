package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// attempts draws with pgx directly. With its pipeline a batch takes two round trips
// (lock and read, write and commit), or one if it was planned from the cached copy.
type attempts struct {
	pool    *pgxpool.Pool
	waits   *engine.Waits
	dialect *engine.Dialect
	awards  engine.Log[draw.Award]
	// limits is the statement that bounds a transaction, and codesLimits is the one that
	// bounds a read of codes.
	limits, codesLimits string
	// preparesCodes means that connections keep prepared statements.
	preparesCodes bool
	words         statements
}

func newAttempts(d *engine.Dialect, pool *pgxpool.Pool, waits *engine.Waits, limits string) *attempts {
	awards := engine.Awards()
	return &attempts{
		pool: pool, waits: waits, dialect: d, awards: awards, words: newStatements(d, awards),
		limits: limits, codesLimits: limitsSQL(d, codesLockWait, codesStatementMax),
		preparesCodes: pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement,
	}
}

// attempt implements engine.Tx.
type attempt struct {
	*attempts
	conn    *pgxpool.Conn
	options engine.TxOptions
	// open means that a transaction is open on the connection. found means that Draws has
	// found at least one draw.
	open, found bool
}

func (t *attempts) acquire(ctx context.Context, o engine.TxOptions) (*attempt, error) {
	t.waits.Begin()
	conn, err := t.pool.Acquire(ctx)
	t.waits.End()
	if err != nil {
		return nil, err
	}
	return &attempt{attempts: t, conn: conn, options: o}, nil
}

// Read implements engine.Attempts, by the first round trip.
func (t *attempts) Read(ctx context.Context, urn *urn.Urn, o engine.TxOptions) (engine.Tx, error) {
	tx, err := t.acquire(ctx, o)
	if err != nil {
		return nil, err
	}
	row, prizes, rules, err := tx.readSince(ctx, urn)
	if errors.Is(err, pgx.ErrNoRows) {
		err = cmp.Or(tx.checkWritable(ctx), engine.PoolNotFound(urn.PoolID))
	}
	if err == nil {
		err = row.Merge(urn, prizes, rules, o)
	}
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// Resume implements engine.Attempts. Its first round trip is made by Turns.
func (t *attempts) Resume(ctx context.Context, o engine.TxOptions) (engine.Tx, error) {
	tx, err := t.acquire(ctx, o)
	if err != nil { // returning tx would make an interface that is not nil
		return nil, err
	}
	return tx, nil
}

// Write implements engine.Attempts, by a single round trip.
func (t *attempts) Write(ctx context.Context, p *urn.Plan, o engine.TxOptions) error {
	tx, err := t.acquire(ctx, o)
	if err != nil {
		return engine.Classify(err, classify)
	}
	defer tx.Rollback()
	return tx.Write(ctx, p)
}

// checkWritable returns nil on a server that can be written to.
func (tx *attempt) checkWritable(ctx context.Context) error {
	var writable bool
	if err := tx.conn.QueryRow(ctx, tx.words.writable).Scan(&writable); err != nil {
		return err
	}
	if !writable {
		return engine.ReadOnlyServer()
	}
	return nil
}

// readSince reads the pool's row and the prizes that changed since the urn's version. If
// the urn has other rules or another pause, it reads those too.
func (tx *attempt) readSince(ctx context.Context, urn *urn.Urn) (row engine.Row, prizes []draw.Prize, rules *draw.Rules, err error) {
	if row, prizes, err = tx.readRows(ctx, urn); err != nil {
		return row, nil, nil, err
	}
	var body string
	if row.LacksPause(urn) {
		err = tx.conn.QueryRow(ctx, sqlPause, urn.PoolID, row.Version()).Scan(&body)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return row, nil, nil, err
		}
		row.SetPause(body)
	}
	if row.LacksMoments(urn) {
		if err := tx.readMoments(ctx, urn.PoolID, &row); err != nil {
			return row, nil, nil, err
		}
	}
	version := row.LacksRules(urn)
	if version == 0 {
		return row, prizes, nil, nil
	}
	if err = tx.conn.QueryRow(ctx, sqlRules, urn.PoolID, version).Scan(&body); err == nil {
		rules = engine.ReadRules(version, body)
	}
	return row, prizes, rules, err
}

// readMoments reads the pending moments of a pool.
func (tx *attempt) readMoments(ctx context.Context, poolID string, row *engine.Row) error {
	from, to := row.Moments()
	rows, err := tx.conn.Query(ctx, sqlMoments, poolID, from, to)
	if err != nil {
		return err
	}
	var item, done int64
	var body string
	_, err = pgx.ForEachRow(rows, []any{&item, &done, &body}, func() error {
		row.AddMoment(item, done, body)
		return nil
	})
	row.SetReadMoments()
	return err
}

func (tx *attempt) readRows(ctx context.Context, urn *urn.Urn) (row engine.Row, prizes []draw.Prize, err error) {
	batch := &pgx.Batch{}
	pool := tx.dialect.WithColumns(tx.words.row)
	if tx.options.Lock {
		tx.begin(batch)
		pool += tx.dialect.ForUpdate
	}
	batch.Queue(pool, urn.PoolID)
	batch.Queue(tx.dialect.WithCodes(sqlPrizes), urn.PoolID, urn.Version)
	results := tx.conn.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if tx.options.Lock {
		if err := tx.begun(results); err != nil {
			return row, nil, err
		}
	}
	if err := results.QueryRow().Scan(row.Fields()...); err != nil {
		return row, nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return row, nil, err
	}
	at := row.Version()
	var p draw.Prize
	_, err = pgx.ForEachRow(rows, engine.PrizeFieldsAt(&p, &at), func() error {
		prizes = engine.Appended(prizes, p)
		return nil
	})
	if err == nil && at != row.Version() {
		err = engine.ErrTorn
	}
	return row, prizes, err
}

// begin adds the beginning of a transaction to a pipeline.
func (tx *attempt) begin(batch *pgx.Batch) {
	batch.Queue(sqlBegin)
	batch.Queue(tx.limits)
	tx.open = true
}

// begun reads the responses to begin.
func (tx *attempt) begun(results pgx.BatchResults) error {
	for range 2 {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}

// beginLocked is begin, followed by the lock if the options require one.
func (tx *attempt) beginLocked(batch *pgx.Batch, poolID string) {
	tx.begin(batch)
	if tx.options.Lock {
		batch.Queue(tx.words.lock, poolID)
	}
}

// begunLocked reads the responses to beginLocked.
func (tx *attempt) begunLocked(results pgx.BatchResults) error {
	err := tx.begun(results)
	if err == nil && tx.options.Lock {
		_, err = results.Exec()
	}
	return err
}

// Draws implements engine.Tx. Without a lock, the same round trip also reads whether the
// server can be written to.
func (tx *attempt) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	draws, err := tx.draws(ctx, poolID, ids)
	tx.found = tx.found || len(draws) > 0
	return draws, engine.Classify(err, classify)
}

// draws makes one round trip. If no transaction is open, its pipeline is a transaction.
func (tx *attempt) draws(ctx context.Context, poolID string, ids []string) (draws map[string]draw.Draw, err error) {
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
		return nil, engine.ReadOnlyServer()
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	draws = map[string]draw.Draw{}
	_, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (struct{}, error) {
		a, err := engine.ScanAward(tx.awards, r)
		engine.Collect(draws, poolID, a)
		return struct{}{}, err
	})
	return draws, err
}

// Write implements engine.Tx: the second round trip, or the only one.
func (tx *attempt) Write(ctx context.Context, p *urn.Plan) error {
	if len(p.Awards) == 0 {
		return tx.confirm(ctx)
	}
	if fault.Armed(fault.BeforeCommit) {
		return tx.writeInSteps(ctx, p)
	}
	batch := &pgx.Batch{}
	opening := !tx.open
	if opening {
		tx.beginLocked(batch, p.PoolID)
	}
	extra := tx.queueWrite(batch, p)
	batch.Queue(`COMMIT`)
	codes := codesOf(p)
	readsCodes := tx.readsCodes(codes)
	if readsCodes {
		tx.queueCodes(batch, p, codes)
	}
	results := tx.conn.SendBatch(ctx, batch)
	var pools int64
	var err error
	if opening {
		err = tx.begunLocked(results)
	}
	if err == nil {
		pools, err = written(results, extra)
	}
	if err == nil {
		err = tx.committed(results)
	}
	if err == nil && readsCodes {
		if unread := codes.end(results); unread != nil {
			//double:doubts-unread tx.forgetCodes(ctx) => err = unread
			tx.forgetCodes(ctx)
		}
	} else {
		err = errors.Join(err, results.Close())
	}
	if err != nil {
		return engine.AtCommit(err, classify)
	}
	tx.open = false
	if pools == 0 {
		return engine.ErrConflict
	}
	if tx.preparesCodes && !readsCodes && !codes.isEmpty() {
		tx.prepareCodes(ctx)
	}
	return nil
}

// queueWrite adds the guarded write to a pipeline, and then the statements that write
// what the rules count. Those require that the pool is at the head to which the guarded
// write moved it. queueWrite returns their number.
func (tx *attempt) queueWrite(batch *pgx.Batch, p *urn.Plan) (extra int) {
	batch.Queue(fault.Unguarded(tx.words.write), tx.arguments(p)...)
	if p.IsPlain() {
		return 0
	}
	made := []any{p.PoolID, p.To.Version, p.To.Mark}
	if len(p.Turns) > 0 {
		extra++
		batch.Queue(tx.words.turns, slices.Concat(made, []any{p.At}, engine.Turns().Lists(p.Turns))...)
	}
	if redirects := engine.RedirectsOf(p); len(redirects) > 0 {
		extra++
		batch.Queue(tx.words.redirects, slices.Concat(made, engine.Redirects().Lists(redirects))...)
	}
	if len(p.Takes) > 0 {
		extra++
		items, versions := make([]int64, len(p.Takes)), make([]int64, len(p.Takes))
		for i, t := range p.Takes {
			items[i], versions[i] = t.Item, t.Version
		}
		batch.Queue(sqlTake, slices.Concat(made, []any{items, versions})...)
	}
	if p.Spends() {
		extra++
		batch.Queue(sqlSpend, slices.Concat(made, []any{p.Spending.Cents, engine.Epoch(p.Spending.From)})...)
	}
	return extra
}

// written reads the responses to queueWrite, and returns how many pools were written.
func written(results pgx.BatchResults, extra int) (pools int64, err error) {
	var one int64
	err = results.QueryRow().Scan(&pools, &one)
	for ; err == nil && extra > 0; extra-- {
		_, err = results.Exec()
	}
	return pools, err
}

func (tx *attempt) arguments(p *urn.Plan) []any {
	changedIDs, changedBy := make([]string, len(p.Raises)), make([]int64, len(p.Raises))
	for i, c := range p.Raises {
		changedIDs[i], changedBy[i] = c.PrizeID, c.Issued
	}
	f := tx.options.Fence
	return append([]any{
		p.PoolID, p.From.Version, int64(len(p.Awards)), f.Token, f.Lock, changedIDs, changedBy, p.Awards[0].At,
		f.TokenMax(), p.From.Mark, p.To.Mark, []byte(p.To.Trail),
	}, tx.awards.Lists(p.Awards)...)
}

// writeInSteps is Write, but it commits in a separate round trip, so that tests can
// inject a fault before it. The released program does not contain it.
func (tx *attempt) writeInSteps(ctx context.Context, p *urn.Plan) error {
	if !tx.open {
		begin := &pgx.Batch{}
		tx.beginLocked(begin, p.PoolID)
		if err := tx.conn.SendBatch(ctx, begin).Close(); err != nil {
			return engine.Classify(err, classify)
		}
	}
	batch := &pgx.Batch{}
	extra := tx.queueWrite(batch, p)
	results := tx.conn.SendBatch(ctx, batch)
	pools, err := written(results, extra)
	if err = errors.Join(err, results.Close()); err != nil {
		return engine.Classify(err, classify)
	}
	fault.At(fault.BeforeCommit)
	forgetWarning(tx.conn.Conn().PgConn())
	_, err = tx.conn.Exec(ctx, `COMMIT`)
	if err = errors.Join(err, warningOf(tx.conn.Conn().PgConn())); err != nil {
		return engine.AtCommit(err, classify)
	}
	tx.open = false
	if pools == 0 {
		return engine.ErrConflict
	}
	return nil
}

// Rollback implements engine.Tx.
func (tx *attempt) Rollback() {
	if tx.conn == nil {
		return
	}
	if tx.open && !tx.conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), engine.RollbackMax)
		// An error closes the connection, which releases the lock as well.
		if _, err := tx.conn.Exec(ctx, `ROLLBACK`); err != nil {
			_ = tx.conn.Conn().Close(ctx)
		}
		cancel()
	}
	tx.conn.Release()
	tx.conn, tx.open = nil, false
}
