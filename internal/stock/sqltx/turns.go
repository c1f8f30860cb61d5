package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

const (
	// needsMax is how many needs one statement reads, and rowsMax how many rows
	// one inserts: below what the databases take.
	needsMax = 100
	rowsMax  = 500

	ofUser  = ` WHERE pool_id = ? AND user_id = ? AND what = ?`
	lastSeq = `(SELECT MAX(seq) FROM turns` + ofUser + `)`

	sqlSpend = `UPDATE pools SET spent = ?, spent_from = ? WHERE id = ?`
)

// Turns implements engine.Tx. The head is read after the turns: where it is
// still the urn's, nobody has made a turn since.
func (tx *attempt) Turns(ctx context.Context, urn *draw.Urn, needs []draw.Need) (*draw.Facts, error) {
	facts, err := tx.turns(ctx, urn, needs)
	return facts, engine.Classify(err, tx.attempts.dialect.ByCode)
}

func (tx *attempt) turns(ctx context.Context, urn *draw.Urn, needs []draw.Need) (*draw.Facts, error) {
	locked := func(ctx context.Context) error { return tx.openLocked(ctx, urn.PoolID) }
	if err := tx.openChecked(ctx, locked); err != nil {
		return nil, err
	}
	facts := draw.NewFacts(needs)
	log := engine.Turns()
	for part := range slices.Chunk(needs, needsMax) {
		s := selectTurns(log, urn.PoolID, part)
		turns, err := engine.QueryAll(ctx, tx.tx, func(row engine.Scanner) (t draw.Turn, err error) {
			err = row.Scan(log.Fields(&t)...)
			return t, err
		}, s.SQL, s.Args...)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			facts.Add(t)
		}
	}
	var version, mark int64
	var due bool
	if err := tx.tx.QueryRowContext(ctx, tx.attempts.made.head, urn.PoolID).Scan(&version, &mark, &due); errors.Is(err, sql.ErrNoRows) {
		return nil, engine.ErrConflict // the next read says what has become of the pool
	} else if err != nil {
		return nil, err
	}
	if version != urn.Version || mark != urn.Mark || due && !urn.IsDue() {
		return nil, engine.ErrConflict
	}
	return facts, nil
}

// selectTurns reads the last turn of each need, and those that may leave its
// window, by the primary key alone.
func selectTurns(log engine.Log[draw.Turn], poolID string, needs []draw.Need) engine.Statement {
	var parts []string
	var args []any
	for _, n := range needs {
		user := []any{poolID, n.UserID, string(n.Counted)}
		parts = append(parts, `SELECT `+log.Read("")+` FROM turns`+ofUser+` AND seq = `+lastSeq)
		args = slices.Concat(args, user, user)
		if n.Max > 0 {
			parts = append(parts, `SELECT `+log.Read("")+` FROM turns`+ofUser+` AND seq BETWEEN `+lastSeq+` + ? AND `+lastSeq+` + ?`)
			args = slices.Concat(args, user, user, []any{1 - n.Max}, user, []any{n.Units - n.Max})
		}
	}
	return engine.Statement{SQL: strings.Join(parts, ` UNION ALL `), Args: args}
}

// count writes what the rules count of a plan. A key that is known there is no
// draw's, but a turn's. The error's text may hold the user, and is not for the log.
func (tx *attempt) count(ctx context.Context, p *draw.Plan) error {
	for _, s := range tx.attempts.counted(p) {
		err := exec(ctx, tx.tx, s)
		if e, ok := errors.AsType[*engine.Error](engine.Classify(err, tx.attempts.dialect.ByCode)); ok && e.Class == engine.ClassKnownKey {
			return engine.Conflict(engine.ReasonTurn, nil)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// counted writes what the rules count of a plan; nothing for a pool without
// rules.
func (t *Attempts) counted(p *draw.Plan) (all []engine.Statement) {
	if p.IsPlain() {
		return nil
	}
	at := t.dialect.Time(p.At)
	for part := range slices.Chunk(p.Turns, rowsMax) {
		all = append(all, engine.Turns().Append(p.PoolID, at, part))
	}
	for part := range slices.Chunk(engine.RedirectsOf(p), rowsMax) {
		all = append(all, engine.Redirects().Append(p.PoolID, at, part))
	}
	if p.Spends() {
		all = append(all, engine.Statement{
			SQL: sqlSpend, Args: []any{p.Spending.Cents, t.dialect.Time(engine.Epoch(p.Spending.From)), p.PoolID}, Rows: 1,
		})
	}
	return all
}
