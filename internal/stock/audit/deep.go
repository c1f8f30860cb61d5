package audit

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// folding folds a pool's history through the code that decides draws.
type folding struct {
	fold  *draw.Fold
	found findings
}

func (r *Auditor) newFolding(ctx context.Context, tx *sql.Tx, poolID string) (*folding, error) {
	prizes, err := r.ledger.Prizes(ctx, tx, poolID)
	if err != nil {
		return nil, err
	}
	changes, err := r.ledger.ChangesOf(ctx, tx, poolID, draw.WhatRules)
	if err != nil {
		return nil, err
	}
	var documents []*draw.Rules
	for i := range changes {
		if r := ledger.RulingOf(&changes[i]).Rules; r != nil && r.Unreadable() == nil { // the fold says what cannot be read
			documents = append(documents, r)
		}
	}
	return &folding{fold: draw.NewFold(poolID, prizes, documents)}, nil
}

// take checks the next entry.
func (f *folding) take(e draw.Entry) {
	for _, v := range f.fold.Add(e) {
		f.found.add(v.Rule, "%s", v.Detail)
	}
}

// end compares the turns that the rules made of the log with those of the rows:
// whose last ones are missing has draws left that were used.
func (f *folding) end(ctx context.Context, r *Auditor, q engine.Querier, poolID string) error {
	type of struct {
		subject string
		counted draw.Counted
	}
	last := map[of]int64{}
	query := r.ledger.SelectFrom("turns", "user_id", "what", "MAX(seq)").Where(squirrel.Eq{"pool_id": poolID}).GroupBy("user_id", "what")
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var key of
		var seq int64
		err := row.Scan(&key.subject, (*string)(&key.counted), &seq)
		last[key] = seq
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	for t := range f.fold.LastTurns() {
		if kept := last[of{t.Subject, t.Counted}]; kept < t.Seq {
			f.found.add(ruleTurnMissing, "of %d turns %q of a %s, those above %d are missing", t.Seq, t.Counted, t.Counted.By(), kept)
		}
	}
	return nil
}
