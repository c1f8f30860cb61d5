package sqltx

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// Attempts draws through database/sql, for MySQL and SQLite.
type Attempts struct {
	writer, reader *sql.DB
	dialect        *engine.Dialect
	awards         engine.Log[draw.Award]
	words          Words
	made           statements
	prepared       prepared
}

// statements are the texts that depend on the dialect. They are built once.
type statements struct{ pool, head, move, moveFenced string }

// New returns attempts that use a writer and a reader, which may be the same.
func New(writer, reader *sql.DB, d *engine.Dialect, awards engine.Log[draw.Award], w Words) *Attempts {
	return &Attempts{writer: writer, reader: reader, dialect: d, awards: awards, words: w, made: statements{
		pool: SelectPool(d), head: `SELECT version, mark, ` + d.IsDue() + ` FROM pools WHERE id = ?`,
		move: MoveHead(d), moveFenced: moveHead + `, fence = ?, fenced_by = ?` + guard + d.NotDue("") + ` AND (fenced_by <> ? OR fence <= ?)`,
	}}
}

// Words are the statements that differ between MySQL and SQLite.
type Words struct {
	// Awards inserts the plan's awards, and Turns inserts its turns. Prizes raises the
	// issued counts of the plan's prizes.
	Awards, Turns, Prizes func(*urn.Plan) []engine.Statement
	// Draws finds draws by their ids.
	Draws func(poolID string, ids []string) engine.Statement
	// Settle, if set, returns a statement to commit before an answer, so that all data
	// that was read before it is durable.
	Settle func() engine.Statement
	// Prepared are statements to be prepared once.
	Prepared []string
}

type attempt struct {
	attempts *Attempts
	options  engine.TxOptions
	// tx is open from the start if the pool's row is locked first. Otherwise it is opened
	// by the first lookup in the log, or by the write.
	tx *preparedTx
	// found means that Draws has found at least one draw.
	found bool
}

const (
	sqlLock = `SELECT version FROM pools WHERE id = ?`
	// selectRules reads the body of a change of rules.
	selectRules = `SELECT body FROM changes WHERE pool_id = ? AND version = ?`
	// SelectPrizes reads the prizes of a pool that changed after a version, each with the
	// pool's version at the time of the read.
	SelectPrizes = engine.SelectPrizes + `, (SELECT version FROM pools WHERE id = ?) FROM prizes WHERE pool_id = ? AND changed > ? ORDER BY added`

	//double:versions-only AND mark = ? => AND ? IS NOT NULL
	moveHead = `UPDATE pools SET version = ?, mark = ?, trail = ?, at = ?`
	guard    = ` WHERE id = ? AND version = ? AND mark = ? AND state = 'open'`
)

// SelectPool reads a pool's row.
func SelectPool(d *engine.Dialect) string {
	return `SELECT ` + engine.RowColumns(d) + ` FROM pools WHERE id = ?`
}

// MoveHead advances a pool's head if it is the one that the plan was made from, unless an
// item of the agenda is due.
func MoveHead(d *engine.Dialect) string { return moveHead + guard + d.NotDue("") }

// Read implements engine.Attempts.
func (t *Attempts) Read(ctx context.Context, urn *urn.Urn, o engine.TxOptions) (engine.Tx, error) {
	tx := &attempt{attempts: t, options: o}
	if err := tx.read(ctx, urn); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// Resume implements engine.Attempts.
func (t *Attempts) Resume(_ context.Context, o engine.TxOptions) (engine.Tx, error) {
	return &attempt{attempts: t, options: o}, nil
}

// Write implements engine.Attempts.
func (t *Attempts) Write(ctx context.Context, p *urn.Plan, o engine.TxOptions) error {
	tx := &attempt{attempts: t, options: o}
	defer tx.Rollback()
	return tx.Write(ctx, p)
}

func (tx *attempt) open(ctx context.Context) error {
	if err := tx.attempts.prepared.prepare(ctx, tx.attempts.writer, tx.attempts.words.Prepared); err != nil {
		return err
	}
	opened, err := tx.attempts.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx.tx = &preparedTx{opened, tx.attempts.prepared.statements}
	return nil
}

// openLocked calls open, and then locks the pool's row if the options require it and the
// beginning of the transaction does not already lock it.
func (tx *attempt) openLocked(ctx context.Context, poolID string) error {
	if err := tx.open(ctx); err != nil || !tx.options.Lock || tx.attempts.dialect.ForUpdate == "" {
		return err
	}
	var version int64
	err := tx.tx.QueryRowContext(ctx, sqlLock+tx.attempts.dialect.ForUpdate, poolID).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.ErrConflict // the next read shows what has happened to the pool
	}
	return err
}

// read reads the pool in the transaction that locks its row, or else on one connection,
// so that all data comes from one server.
func (tx *attempt) read(ctx context.Context, urn *urn.Urn) error {
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

func (tx *attempt) readOn(ctx context.Context, q engine.Querier, lock string, urn *urn.Urn) error {
	d := tx.attempts.dialect
	var row engine.Row
	err := q.QueryRowContext(ctx, tx.attempts.dialect.WithColumns(tx.attempts.made.pool)+lock, urn.PoolID).Scan(row.Fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return cmp.Or(engine.CheckWritable(ctx, q, d), engine.PoolNotFound(urn.PoolID))
	}
	if err != nil {
		return err
	}
	if d.Clock == "" {
		row.Tell(fault.Moved(time.Now()))
	}
	var prizes []draw.Prize
	if row.Version() > urn.Version {
		at := row.Version()
		scan := func(row engine.Scanner) (draw.Prize, error) { return engine.ScanPrizeAt(row, &at) }
		if prizes, err = engine.QueryAll(ctx, q, scan, d.WithCodes(SelectPrizes), urn.PoolID, urn.PoolID, urn.Version); err != nil {
			return err
		}
		if at != row.Version() {
			return engine.ErrTorn
		}
	}
	var rules *draw.Rules
	if version := row.LacksRules(urn); version != 0 {
		var body string
		if err := q.QueryRowContext(ctx, selectRules, urn.PoolID, version).Scan(&body); err != nil {
			return err
		}
		rules = engine.ReadRules(version, body)
	}
	if row.LacksMoments(urn) {
		if err := readMoments(ctx, q, urn.PoolID, &row); err != nil {
			return err
		}
	}
	if row.LacksPause(urn) {
		var body string
		err := q.QueryRowContext(ctx, engine.SelectPause, urn.PoolID, row.Version()).Scan(&body)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		row.SetPause(body)
	}
	return row.Merge(urn, prizes, rules, tx.options)
}

// Draws implements engine.Tx. It reads in a transaction. A proxy may send single reads to
// other servers, but it sends a transaction to the server that can be written to.
func (tx *attempt) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	draws, err := tx.draws(ctx, poolID, ids)
	tx.found = tx.found || len(draws) > 0
	return draws, engine.Classify(err, tx.attempts.dialect.ByCode)
}

// openChecked opens the transaction with open, unless it is open already, and checks that
// its server can be written to.
func (tx *attempt) openChecked(ctx context.Context, open func(context.Context) error) error {
	if tx.tx != nil {
		return nil
	}
	if err := open(ctx); err != nil {
		return err
	}
	return engine.CheckWritable(ctx, tx.tx, tx.attempts.dialect)
}

func (tx *attempt) draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	if err := tx.openChecked(ctx, tx.open); err != nil {
		return nil, err
	}
	s := tx.attempts.words.Draws(poolID, ids)
	scan := func(row engine.Scanner) (draw.Award, error) { return engine.ScanAward(tx.attempts.awards, row) }
	awards, err := engine.QueryAll(ctx, tx.tx, scan, s.SQL, s.Args...)
	if err != nil {
		return nil, err
	}
	draws := map[string]draw.Draw{}
	for _, a := range awards {
		engine.Collect(draws, poolID, a)
	}
	return draws, nil
}

// Write implements engine.Tx.
func (tx *attempt) Write(ctx context.Context, p *urn.Plan) error {
	if len(p.Awards) == 0 {
		return tx.confirm(ctx)
	}
	if err := tx.write(ctx, p); err != nil {
		return engine.Classify(err, tx.attempts.dialect.ByCode)
	}
	fault.At(fault.BeforeCommit)
	return tx.commit()
}

func (tx *attempt) commit() error {
	//double:ignores-commits err != nil => err != nil && false
	if err := tx.tx.Commit(); err != nil {
		return engine.AtCommit(err, tx.attempts.dialect.ByCode)
	}
	tx.tx = nil
	return nil
}

// write makes the changes of a plan. It writes the pool's row first, and the other rows
// only if the pool was at the planned head.
func (tx *attempt) write(ctx context.Context, p *urn.Plan) error {
	if tx.tx == nil {
		if err := tx.openLocked(ctx, p.PoolID); err != nil {
			return err
		}
	}
	if err := exec(ctx, tx.tx, tx.guarded(p)); errors.Is(err, errRows) {
		return engine.ErrConflict
	} else if err != nil {
		return err
	}
	for _, s := range slices.Concat(tx.attempts.words.Prizes(p), tx.attempts.words.Awards(p)) {
		if err := exec(ctx, tx.tx, s); err != nil {
			return err
		}
	}
	return tx.count(ctx, p)
}

// guarded returns the write that advances the pool's head from the one that was planned.
func (tx *attempt) guarded(p *urn.Plan) engine.Statement {
	d := tx.attempts.dialect
	to, from := []any{p.To.Version, p.To.Mark, []byte(p.To.Trail), d.Time(p.Awards[0].At)}, []any{p.PoolID, p.From.Version, p.From.Mark}
	if d.Clock == "" {
		from = append(from, d.Time(fault.Moved(time.Now()).UTC()))
	}
	s := engine.Statement{SQL: tx.attempts.made.move, Args: append(to, from...), Rows: 1}
	if f := tx.options.Fence; f.Lock != "" {
		s.SQL = tx.attempts.made.moveFenced
		s.Args = slices.Concat(to, []any{f.Token, f.Lock}, from, []any{f.Lock, f.TokenMax()})
	}
	s.SQL = fault.Unguarded(s.SQL)
	return s
}

// Rollback implements engine.Tx.
func (tx *attempt) Rollback() {
	if tx.tx != nil {
		// An error means that the connection is lost, and the lock with it.
		_ = tx.tx.Rollback()
		tx.tx = nil
	}
}

var errRows = errors.New("sqltx: a statement changed another number of rows than planned")

// exec runs a statement that must change s.Rows rows; it returns errRows if the number
// differs.
func exec(ctx context.Context, tx *preparedTx, s engine.Statement) error {
	result, err := tx.ExecContext(ctx, s.SQL, s.Args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != s.Rows {
		return errors.Join(errRows, err)
	}
	return nil
}

// readMoments reads the pending moments of a pool.
func readMoments(ctx context.Context, q engine.Querier, poolID string, row *engine.Row) error {
	from, to := row.Moments()
	var item, done int64
	var body string
	err := engine.EachRow(ctx, q, engine.SelectMoments, []any{poolID, from, to}, []any{&item, &done, &body}, func() {
		row.AddMoment(item, done, body)
	})
	row.SetReadMoments()
	return err
}

// takeMoments returns the statements that record which awards take pending moments.
func takeMoments(p *urn.Plan) (all []engine.Statement) {
	for part := range slices.Chunk(p.Takes, rowsMax) {
		args := make([]any, 0, 3*len(part)+1)
		for _, t := range part {
			args = append(args, t.Item, t.Version)
		}
		args = append(args, p.PoolID)
		for _, t := range part {
			args = append(args, t.Item)
		}
		all = append(all, engine.Statement{
			SQL: `UPDATE agenda SET taken = CASE item` + strings.Repeat(" WHEN ? THEN ?", len(part)) +
				` END WHERE pool_id = ? AND item IN (` + engine.List("?", len(part)) + `) AND taken = 0`,
			Args: args, Rows: int64(len(part)),
		})
	}
	return all
}

// confirm waits until the draws that were found are as safe as an acknowledged commit:
// the commit that wrote them may not be finished yet.
func (tx *attempt) confirm(ctx context.Context) error {
	if !tx.found || tx.attempts.words.Settle == nil {
		return nil
	}
	err := CommitSettled(ctx, tx.tx.Tx, tx.attempts.words.Settle(), tx.attempts.dialect.ByCode)
	if err == nil {
		tx.tx = nil
	}
	return err
}

// Confirm waits until all data that could be read before is as safe as an acknowledged
// commit. Error: an *Error with its class.
func Confirm(ctx context.Context, db *sql.DB, d *engine.Dialect, w Words) error {
	tx, err := db.BeginTx(ctx, &d.Change)
	if err != nil {
		return engine.Classify(err, d.ByCode)
	}
	return CommitSettled(ctx, tx, w.Settle(), d.ByCode)
}

// CommitSettled executes settle in tx and commits. That commit waits until all data that
// could be read before is as safe as an acknowledged commit. Error: an *Error with its
// class.
func CommitSettled(ctx context.Context, tx *sql.Tx, settle engine.Statement, byCode func(error) *engine.Error) error {
	if _, err := tx.ExecContext(ctx, settle.SQL, settle.Args...); err != nil {
		_ = tx.Rollback() // an error means that the connection is lost, and the changes with it
		return engine.BeforeCommit(err, byCode)
	}
	if err := tx.Commit(); err != nil {
		return engine.AtCommit(err, byCode)
	}
	return nil
}
