package audit

import (
	"context"
	"database/sql"
	"math"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Audit reads a pool's rows in one snapshot and reports every rule that they break. It
// reads each row once, in the order of the versions. It keeps only the pool's prizes
// and agenda in memory, and a sum for each quarter of an hour with an award under a
// budget. So its time grows with the number of rows, and its memory with the number of
// prizes. Errors: CodePoolNotFound, and those of the store.
func (r *Auditor) Audit(ctx context.Context, poolID string) (draw.Audit, error) {
	return r.audit(ctx, poolID, false)
}

// AuditDeep is Audit with a further judge, which folds the history through the code
// that decides draws: given what was drawn, every award and every redirect must follow
// from the rules in force. Its memory also grows with the number of users that the
// rules count.
func (r *Auditor) AuditDeep(ctx context.Context, poolID string) (draw.Audit, error) {
	return r.audit(ctx, poolID, true)
}

// judge is one part of an audit. take, unless it is nil, checks each entry of the
// history in order. end, unless it is nil, compares the rows with the whole history.
type judge struct {
	take func(draw.Entry)
	end  func() error
}

func (r *Auditor) audit(ctx context.Context, poolID string, deep bool) (audit draw.Audit, err error) {
	err = r.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, version int64) error {
		prizes, err := r.auditedPrizes(ctx, tx, poolID)
		if err != nil {
			return err
		}
		a := newRowAuditor(prizes)
		planned, err := r.newAgendaAuditor(ctx, tx, poolID, &a.found)
		if err != nil {
			return err
		}
		budget := budgetAuditor{prizes: a.byID, found: &a.found}
		judges := []judge{
			{a.take, func() error { a.end(version); return nil }},
			{planned.take, func() error { return r.endAgenda(ctx, tx, planned) }},
			{budget.take, nil},
			{nil, func() error { return r.auditTurns(ctx, tx, poolID, a) }},
			{nil, func() error { return r.auditInForce(ctx, tx, poolID, a) }},
		}
		for _, check := range r.others {
			judges = append(judges, judge{nil, func() error { return check(ctx, tx, poolID, a.found.add) }})
		}
		entries, reports := r.ledger.Entries(ctx, tx, poolID, math.MinInt64), []*findings{&a.found}
		if deep {
			f, err := r.newFolding(ctx, tx, poolID)
			if err != nil {
				return err
			}
			judges = append(judges, judge{f.take, func() error { return f.end(ctx, r, tx, poolID) }})
			entries, reports = r.ledger.Redirected(ctx, tx, poolID, math.MinInt64, ledger.PageMax, entries), append(reports, &f.found)
		}
		if err := hear(judges, entries); err != nil {
			return err
		}
		audit = draw.Audit{PoolID: poolID, Version: version, Prizes: a.prizes()}
		for _, found := range reports {
			violations, n := found.list()
			audit.Violations, audit.Found = append(audit.Violations, violations...), audit.Found+n
		}
		return nil
	})
	return audit, err
}

// hear passes every entry to the judges, in their order, and then calls the end of
// each.
func hear(judges []judge, entries ledger.EntrySeq) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		for i := range judges {
			if judges[i].take != nil {
				judges[i].take(e)
			}
		}
	}
	for i := range judges {
		if judges[i].end == nil {
			continue
		}
		if err := judges[i].end(); err != nil {
			return err
		}
	}
	return nil
}

// auditedPrizes reads the counters of a pool's prizes.
func (r *Auditor) auditedPrizes(ctx context.Context, q engine.Querier, poolID string) ([]*auditedPrize, error) {
	query := r.ledger.SelectFrom("prizes", "id", "kind", "stocked", "issued", "value").Where(squirrel.Eq{"pool_id": poolID}).OrderBy("added")
	return ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (*auditedPrize, error) {
		var p auditedPrize
		var value decimal.Decimal
		err := row.Scan(&p.id, (*string)(&p.kind), &p.stocked, &p.issued, &value)
		p.cents = draw.Cents(value)
		return &p, err
	})
}

// folding folds a pool's history through the code that decides draws.
type folding struct {
	fold  *fold.Fold
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
		if r := ledger.RulingOf(&changes[i]).Rules; r != nil && r.Unreadable() == nil { // the fold reports what cannot be read
			documents = append(documents, r)
		}
	}
	return &folding{fold: fold.New(poolID, prizes, documents)}, nil
}

// take checks the next entry.
func (f *folding) take(e draw.Entry) {
	for _, v := range f.fold.Add(e) {
		f.found.add(v.Rule, "%s", v.Detail)
	}
}

// end compares the turns that follow from the log and the rules with those of the rows:
// a user whose last ones are missing could draw more often than allowed.
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
	return f.endMoments(ctx, r, q, poolID)
}
