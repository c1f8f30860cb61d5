package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
)

// sqlAttempts draws through database/sql, for MySQL and SQLite.
type sqlAttempts struct {
	writer, reader *sql.DB
	dialect        *Dialect
	awards         Log[draw.Award]
	words          words
	kept           kept
}

// words are the statements that MySQL and SQLite word differently.
type words struct {
	// awards inserts the plan's awards, prizes raises its prizes' issued.
	awards, prizes func(*draw.Plan) []Statement
	// draws finds draws by their ids.
	draws func(poolID string, ids []string) Statement
	// kept are statements to be prepared once.
	kept []string
}

type sqlTx struct {
	attempts *sqlAttempts
	options  TxOptions
	// tx is open from the start when the pool row is locked first, else from
	// the first look at the log or the write.
	tx *keptTx
}

const (
	sqlLock   = `SELECT version FROM pools WHERE id = ?`
	sqlPrizes = `SELECT ` + prizeColumns + ` FROM prizes WHERE pool_id = ? AND changed > ? ORDER BY added`
	sqlRaise  = `UPDATE pools SET version = ?, mark = ?, trail = ?`
	sqlGuard  = ` WHERE id = ? AND version = ? AND mark = ? AND state = 'open'`
)

// sqlPool reads a pool's row.
func sqlPool(d *Dialect) string {
	return `SELECT ` + poolColumns(d.Writable) + ` FROM pools WHERE id = ?`
}

// querier is a transaction or a pool of connections.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Read implements Attempts.
func (t *sqlAttempts) Read(ctx context.Context, urn *draw.Urn, o TxOptions) (Tx, error) {
	tx := &sqlTx{attempts: t, options: o}
	if err := tx.read(ctx, urn); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// Write implements Attempts.
func (t *sqlAttempts) Write(ctx context.Context, p *draw.Plan, o TxOptions) error {
	tx := &sqlTx{attempts: t, options: o}
	defer tx.Rollback()
	return tx.Write(ctx, p)
}

func (tx *sqlTx) open(ctx context.Context) error {
	if err := tx.attempts.kept.keep(ctx, tx.attempts.writer, tx.attempts.words.kept); err != nil {
		return err
	}
	opened, err := tx.attempts.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx.tx = &keptTx{opened, tx.attempts.kept.statements}
	return nil
}

// openLocked is open, and locks the pool's row where the options say so and
// the transaction itself does not lock it.
func (tx *sqlTx) openLocked(ctx context.Context, poolID string) error {
	if err := tx.open(ctx); err != nil || !tx.options.Lock || tx.attempts.dialect.ForUpdate == "" {
		return err
	}
	var version int64
	err := tx.tx.QueryRowContext(ctx, sqlLock+tx.attempts.dialect.ForUpdate, poolID).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrConflict // the next read says what has become of the pool
	}
	return err
}

// read reads the pool: in the transaction that locks its row, or on one
// connection, so that all of it is read from one server.
func (tx *sqlTx) read(ctx context.Context, urn *draw.Urn) error {
	if tx.options.Lock {
		if err := tx.open(ctx); err != nil {
			return err
		}
		return tx.readOn(ctx, tx.tx, tx.attempts.dialect.ForUpdate, urn)
	}
	conn, err := tx.attempts.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it goes back to its pool
	return tx.readOn(ctx, conn, "", urn)
}

func (tx *sqlTx) readOn(ctx context.Context, q querier, lock string, urn *draw.Urn) error {
	d := tx.attempts.dialect
	var row poolRow
	err := q.QueryRowContext(ctx, sqlPool(d)+lock, urn.PoolID).Scan(row.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		return cmp.Or(checkWritable(ctx, q, d), errPoolNotFound(urn.PoolID))
	}
	if err != nil {
		return err
	}
	var prizes []draw.Prize
	if row.version > urn.Version {
		if prizes, err = queryAll(ctx, q, scanPrize, sqlPrizes, urn.PoolID, urn.Version); err != nil {
			return err
		}
	}
	return seen(urn, row, prizes, tx.options)
}

// Draws implements Tx. It asks in a transaction, which a proxy that sends
// readers elsewhere leaves with the server that is written.
func (tx *sqlTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	draws, err := tx.draws(ctx, poolID, ids)
	return draws, classify(err, tx.attempts.dialect.ByCode)
}

func (tx *sqlTx) draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	if tx.tx == nil {
		if err := tx.open(ctx); err != nil {
			return nil, err
		}
		if err := checkWritable(ctx, tx.tx, tx.attempts.dialect); err != nil {
			return nil, err
		}
	}
	s := tx.attempts.words.draws(poolID, ids)
	scan := func(row scanner) (draw.Award, error) { return ScanAward(tx.attempts.awards, row) }
	awards, err := queryAll(ctx, tx.tx, scan, s.SQL, s.Args...)
	if err != nil {
		return nil, err
	}
	draws := map[string]draw.Draw{}
	for _, a := range awards {
		collect(draws, poolID, a)
	}
	return draws, nil
}

// Write implements Tx.
func (tx *sqlTx) Write(ctx context.Context, p *draw.Plan) error {
	if len(p.Awards) == 0 {
		return nil // what can be read here is safe
	}
	if err := tx.write(ctx, p); err != nil {
		return classify(err, tx.attempts.dialect.ByCode)
	}
	fault.At(fault.BeforeCommit)
	if err := tx.tx.Commit(); err != nil {
		return atCommit(err, tx.attempts.dialect.ByCode)
	}
	tx.tx = nil
	return nil
}

// write makes the changes of a plan: the pool's row first, and the others only
// when that one was at the planned head.
func (tx *sqlTx) write(ctx context.Context, p *draw.Plan) error {
	if tx.tx == nil {
		if err := tx.openLocked(ctx, p.PoolID); err != nil {
			return err
		}
	}
	if err := exec(ctx, tx.tx, tx.guarded(p)); errors.Is(err, errRows) {
		return ErrConflict
	} else if err != nil {
		return err
	}
	for _, s := range append(tx.attempts.words.prizes(p), tx.attempts.words.awards(p)...) {
		if err := exec(ctx, tx.tx, s); err != nil {
			return err
		}
	}
	return nil
}

// guarded moves the pool's head on, from the one that the plan was made from.
func (tx *sqlTx) guarded(p *draw.Plan) Statement {
	to, from := []any{p.To.Version, p.To.Mark, []byte(p.To.Trail)}, []any{p.PoolID, p.From.Version, p.From.Mark}
	s := Statement{SQL: sqlRaise + sqlGuard, Args: append(to, from...), Rows: 1}
	if f := tx.options.Fence; f.Lock != "" {
		s.SQL = sqlRaise + `, fence = ?, fenced_by = ?` + sqlGuard + ` AND (fenced_by <> ? OR fence <= ?)`
		s.Args = slices.Concat(to, []any{f.Token, f.Lock}, from, []any{f.Lock, f.tokenMax()})
	}
	s.SQL = fault.Unguarded(s.SQL)
	return s
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

// exec runs a statement that must change s.Rows rows; errRows when it changes
// another number.
func exec(ctx context.Context, tx *keptTx, s Statement) error {
	result, err := tx.ExecContext(ctx, s.SQL, s.Args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != s.Rows {
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
