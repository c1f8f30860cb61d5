package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

const (
	// partsMax is the maximum number of parts of a UNION in one statement, and rowsMax is
	// the maximum number of rows in one INSERT. Both are below the databases' limits.
	partsMax = 100
	rowsMax  = 500

	ofSubject = ` WHERE pool_id = ? AND user_id = ? AND what = ?`
	lastSeq   = `(SELECT MAX(seq) FROM turns` + ofSubject + `)`

	sqlSpend = `UPDATE pools SET spent = ?, spent_from = ? WHERE id = ?`
)

// Turns implements engine.Tx. The head is read after the turns: if it is still the urn's
// head, nobody has written a turn since.
func (tx *attempt) Turns(ctx context.Context, urn *urn.Urn, needs []urn.Need) (*urn.Facts, error) {
	facts, err := tx.turns(ctx, urn, needs)
	return facts, engine.Classify(err, tx.attempts.dialect.ByCode)
}

func (tx *attempt) turns(ctx context.Context, u *urn.Urn, needs []urn.Need) (*urn.Facts, error) {
	locked := func(ctx context.Context) error { return tx.openLocked(ctx, u.PoolID) }
	if err := tx.openChecked(ctx, locked); err != nil {
		return nil, err
	}
	facts := urn.NewFacts(needs)
	if err := tx.readTurns(ctx, facts, lastTurns(u.PoolID, needs)); err != nil {
		return nil, err
	}
	if err := tx.readTurns(ctx, facts, windowTurns(u.PoolID, needs, facts)); err != nil {
		return nil, err
	}
	var version, mark int64
	var due bool
	if err := tx.tx.QueryRowContext(ctx, tx.attempts.made.head, u.PoolID).Scan(&version, &mark, &due); errors.Is(err, sql.ErrNoRows) {
		return nil, engine.ErrConflict // the next read finds out why the pool is missing
	} else if err != nil {
		return nil, err
	}
	if version != u.Version || mark != u.Mark || due && !u.IsDue() {
		return nil, engine.ErrConflict
	}
	return facts, nil
}

// turnsPart is a part of the query for turns: a condition whose rows are found only
// through the primary key.
type turnsPart struct {
	where string
	args  []any
}

func (tx *attempt) readTurns(ctx context.Context, facts *urn.Facts, parts []turnsPart) error {
	log := engine.Turns()
	for some := range slices.Chunk(parts, partsMax) {
		var selects []string
		var args []any
		for _, p := range some {
			selects, args = append(selects, `SELECT `+log.Read("")+` FROM turns`+p.where), append(args, p.args...)
		}
		turns, err := engine.QueryAll(ctx, tx.tx, func(row engine.Scanner) (t draw.Turn, err error) {
			err = row.Scan(log.Fields(&t)...)
			return t, err
		}, strings.Join(selects, ` UNION ALL `), args...)
		if err != nil {
			return err
		}
		for _, t := range turns {
			facts.Add(t)
		}
	}
	return nil
}

// lastTurns returns parts that read the last turn of each subject and kind in needs.
func lastTurns(poolID string, needs []urn.Need) (parts []turnsPart) {
	for _, n := range needs {
		parts = append(parts, turnsPart{ofSubject + ` AND seq = ` + lastSeq, []any{poolID, n.Subject, string(n.Counted), poolID, n.Subject, string(n.Counted)}})
	}
	return parts
}

// windowTurns returns parts that read the turns that may leave the windows of limits,
// except the last turns, which were read before. It returns none for a window that has no
// such turns.
func windowTurns(poolID string, needs []urn.Need, facts *urn.Facts) (parts []turnsPart) {
	for _, n := range needs {
		for _, window := range n.Windows {
			if from, upto := n.Before(facts.Last(n.Subject, n.Counted), window); from <= upto {
				parts = append(parts, turnsPart{ofSubject + ` AND seq BETWEEN ? AND ?`, []any{poolID, n.Subject, string(n.Counted), from, upto}})
			}
		}
	}
	return parts
}

// count writes the turns of a plan that the rules count. If the database reports a
// duplicate key there, it is a turn's key, not a draw's. The error is not kept: its text
// may contain the user, and must not be logged.
func (tx *attempt) count(ctx context.Context, p *urn.Plan) error {
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

// counted returns the statements that write the turns of a plan that the rules count. For
// a pool without rules the list is empty.
func (t *Attempts) counted(p *urn.Plan) (all []engine.Statement) {
	if p.IsPlain() {
		return nil
	}
	all = t.words.Turns(p)
	at := t.dialect.Time(p.At)
	for part := range slices.Chunk(engine.RedirectsOf(p), rowsMax) {
		all = append(all, engine.Redirects().Append(p.PoolID, at, part))
	}
	all = append(all, takeMoments(p)...)
	if p.Spends() {
		all = append(all, engine.Statement{
			SQL: sqlSpend, Args: []any{p.Spending.Cents, t.dialect.Time(engine.Epoch(p.Spending.From)), p.PoolID}, Rows: 1,
		})
	}
	return all
}
