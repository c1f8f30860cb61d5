package stock

import (
	"context"
	"database/sql"
	"errors"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
)

// sqlTries draws through database/sql, for MySQL and SQLite.
type sqlTries struct {
	write, read *sql.DB
	dialect     *dialect
	words       words
	kept        kept
}

// words are the statements that MySQL and SQLite word differently.
type words struct {
	// awards inserts the plan's awards, prizes raises its prizes' issued.
	awards, prizes func(*draw.Plan) []statement
	// draws finds draws by their ids.
	draws func(poolID string, ids []string) statement
	// kept are statements to be prepared once.
	kept []string
}

// statement is SQL with its arguments. rows is the number of rows that it
// must change.
type statement struct {
	sql  string
	args []any
	rows int64
}

type sqlTx struct {
	tries   *sqlTries
	urn     *draw.Urn
	options TxOptions
	// tx is open from the start when the pool row is locked first, else from
	// Apply.
	tx *keptTx
}

const (
	sqlPool   = `SELECT state, COALESCE(mode, ''), version, fence, fenced_by FROM pools WHERE id = ?`
	sqlLock   = `SELECT version FROM pools WHERE id = ?`
	sqlPrizes = `SELECT ` + prizeColumns + ` FROM prizes WHERE pool_id = ? AND changed > ? ORDER BY added`
	sqlRaise  = `UPDATE pools SET version = version + ?`
	sqlGuard  = ` WHERE id = ? AND version = ? AND state = 'open' AND COALESCE(mode, '') = ?`
)

// querier is a transaction or a pool of connections.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (t *sqlTries) begin(ctx context.Context, urn *draw.Urn, o TxOptions) (Tx, error) {
	tx := &sqlTx{tries: t, urn: urn, options: o}
	if o.Remembered {
		return tx, nil
	}
	if o.Lock {
		if err := tx.open(ctx); err != nil {
			return nil, err
		}
	}
	if err := tx.read(ctx); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

func (tx *sqlTx) open(ctx context.Context) error {
	if err := tx.tries.kept.keep(ctx, tx.tries.write, tx.tries.words.kept); err != nil {
		return err
	}
	opened, err := tx.tries.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx.tx = &keptTx{opened, tx.tries.kept.statements}
	return nil
}

// openLocked is open, and locks the pool's row where the options say so and
// the transaction itself does not lock it.
func (tx *sqlTx) openLocked(ctx context.Context) error {
	if err := tx.open(ctx); err != nil || !tx.options.Lock || tx.tries.dialect.forUpdate == "" {
		return err
	}
	var version int64
	err := tx.tx.QueryRowContext(ctx, sqlLock+tx.tries.dialect.forUpdate, tx.urn.PoolID).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrConflict // the next look says what has become of the pool
	}
	return err
}

func (tx *sqlTx) querier() querier {
	if tx.tx != nil {
		return tx.tx
	}
	return tx.tries.read
}

func (tx *sqlTx) read(ctx context.Context) error {
	urn, query := tx.urn, sqlPool
	if tx.options.Lock {
		query += tx.tries.dialect.forUpdate
	}
	var row poolRow
	err := tx.querier().QueryRowContext(ctx, query, urn.PoolID).
		Scan(&row.state, &row.mode, &row.version, &row.fence, &row.fencedBy)
	if errors.Is(err, sql.ErrNoRows) {
		return errPoolNotFound(urn.PoolID)
	}
	if err != nil {
		return err
	}
	var prizes []draw.Prize
	if row.version > urn.Version {
		if prizes, err = queryAll(ctx, tx.querier(), scanPrize, sqlPrizes, urn.PoolID, urn.Version); err != nil {
			return err
		}
	}
	return fill(urn, row, prizes, tx.options)
}

// Draws implements Tx.
func (tx *sqlTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	s := tx.tries.words.draws(poolID, ids)
	awards, err := queryAll(ctx, tx.querier(), scanAward, s.sql, s.args...)
	if err != nil {
		return nil, classify(err, tx.tries.dialect.classify)
	}
	draws := map[string]draw.Draw{}
	for _, a := range awards {
		collect(draws, poolID, a)
	}
	return draws, nil
}

// Apply implements Tx.
func (tx *sqlTx) Apply(ctx context.Context, p *draw.Plan) error {
	if len(p.Awards) == 0 {
		return nil // what can be read here is safe
	}
	if err := tx.write(ctx, p); err != nil {
		return classify(err, tx.tries.dialect.classify)
	}
	fault.At(fault.BeforeCommit)
	if err := tx.tx.Commit(); err != nil {
		return atCommit(err, tx.tries.dialect.classify)
	}
	tx.tx = nil
	return nil
}

// write makes the changes of a plan: the pool's row first, and the others only
// when that one was at the planned version.
func (tx *sqlTx) write(ctx context.Context, p *draw.Plan) error {
	if tx.tx == nil {
		if err := tx.openLocked(ctx); err != nil {
			return err
		}
	}
	pool := statement{sql: sqlRaise + sqlGuard, args: []any{len(p.Awards), p.PoolID, p.From, tx.urn.Mode}, rows: 1}
	if o := tx.options; o.By != "" {
		pool.sql = sqlRaise + `, fence = ?, fenced_by = ?` + sqlGuard + ` AND (fenced_by <> ? OR fence <= ?)`
		pool.args = []any{len(p.Awards), o.Fence, o.By, p.PoolID, p.From, tx.urn.Mode, o.By, o.fenceMax()}
	}
	pool.sql = fault.Unguarded(pool.sql)
	if err := exec(ctx, tx.tx, pool); errors.Is(err, errRows) {
		return ErrConflict
	} else if err != nil {
		return err
	}
	for _, s := range append(tx.tries.words.prizes(p), tx.tries.words.awards(p)...) {
		if err := exec(ctx, tx.tx, s); err != nil {
			return err
		}
	}
	return nil
}

// Rollback implements Tx.
func (tx *sqlTx) Rollback() {
	if tx.tx != nil {
		// An error means that the connection is gone, and the lock with it.
		_ = tx.tx.Rollback()
		tx.tx = nil
	}
}

var errRows = errors.New("stock: a statement changed another number of rows than planned")

// exec runs a statement that must change s.rows rows; errRows when it changes
// another number.
func exec(ctx context.Context, tx *keptTx, s statement) error {
	result, err := tx.ExecContext(ctx, s.sql, s.args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != s.rows {
		return errors.Join(errRows, err)
	}
	return nil
}

// queryAll collects the rows of a query.
func queryAll[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (found []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}
