package audit

import (
	"context"
	"math"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Audit reads a pool's rows in one snapshot and reports every rule that they break. It
// reads each row once, in the order of the versions. Memory holds only the pool's prizes
// and agenda, and one sum for each quarter of an hour that has an award under a budget.
// So the time of an audit grows with the number of rows, and its memory with the number
// of prizes. Errors: CodePoolNotFound, and those of the store.
func (r *Auditor) Audit(ctx context.Context, poolID string) (draw.Audit, error) {
	return r.audit(ctx, poolID, false)
}

// AuditDeep is Audit, and also derives the history by the code that decides draws. Given
// the drawn units, every award and every redirect must follow from the rules in force.
// Its memory also grows with the number of users that the rules count.
func (r *Auditor) AuditDeep(ctx context.Context, poolID string) (draw.Audit, error) {
	return r.audit(ctx, poolID, true)
}

func (r *Auditor) audit(ctx context.Context, poolID string, deep bool) (audit draw.Audit, err error) {
	err = r.ledger.RowsOf(ctx, poolID, func(q engine.Querier, version int64) error {
		prizes, err := r.auditedPrizes(ctx, q, poolID)
		if err != nil {
			return err
		}
		a := newRowAuditor(prizes)
		planned, err := r.newAgendaAuditor(ctx, q, poolID, &a.found)
		if err != nil {
			return err
		}
		budget := budgetAuditor{prizes: a.byID, found: &a.found}
		judges := []ledger.Judge{
			{Take: taking(a.take), End: func() error { a.end(version); return nil }},
			{Take: taking(planned.take), End: func() error { return r.endAgenda(ctx, q, planned) }},
			{Take: taking(budget.take)},
			{End: func() error { return r.auditTurns(ctx, q, poolID, a) }},
			{End: func() error { return r.auditInForce(ctx, q, poolID, a) }},
		}
		others, reports, err := r.beginOthers(ctx, q, poolID)
		if err != nil {
			return err
		}
		judges, reports = append(judges, others...), append([]*findings{&a.found}, reports...)
		entries := r.ledger.Entries(ctx, q, poolID, math.MinInt64)
		if deep {
			f, err := r.newFolding(ctx, q, poolID)
			if err != nil {
				return err
			}
			judges = append(judges, ledger.Judge{Take: taking(f.take), End: func() error { return f.end(ctx, r, q, poolID) }})
			entries, reports = r.ledger.Redirected(ctx, q, poolID, math.MinInt64, ledger.PageMax, entries), append(reports, &f.found)
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

// beginOthers begins the checks of other packages. Each check collects its own findings,
// so that the order of the report does not depend on when a check finds something.
func (r *Auditor) beginOthers(ctx context.Context, q engine.Querier, poolID string) (judges []ledger.Judge, reports []*findings, err error) {
	prizes, err := r.ledger.Prizes(ctx, q, poolID)
	if err != nil {
		return nil, nil, err
	}
	of := &ledger.Audited{Querier: q, PoolID: poolID, Prizes: prizes, Returned: map[string][]int64{}}
	for _, begin := range r.others {
		found := &findings{}
		judge, err := begin(ctx, of, found.add)
		if err != nil {
			return nil, nil, err
		}
		judges, reports = append(judges, judge), append(reports, found)
	}
	return judges, reports, nil
}

// taking converts a function that cannot fail to the Take of a judge.
func taking(take func(draw.Entry)) func(draw.Entry) error {
	return func(e draw.Entry) error { take(e); return nil }
}

// hear passes every entry to the judges, in their order, and then calls the End of each.
func hear(judges []ledger.Judge, entries ledger.EntrySeq) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		for i := range judges {
			if judges[i].Take == nil {
				continue
			}
			if err := judges[i].Take(e); err != nil {
				return err
			}
		}
	}
	for i := range judges {
		if judges[i].End == nil {
			continue
		}
		if err := judges[i].End(); err != nil {
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

// folding derives a pool's history by the code that decides draws.
type folding struct {
	fold  *fold.Fold
	found findings
}

func (r *Auditor) newFolding(ctx context.Context, q engine.Querier, poolID string) (*folding, error) {
	prizes, err := r.ledger.Prizes(ctx, q, poolID)
	if err != nil {
		return nil, err
	}
	changes, err := r.ledger.ChangesOf(ctx, q, poolID, draw.WhatRules)
	if err != nil {
		return nil, err
	}
	var documents []*draw.Rules
	for i := range changes {
		if r := ledger.RulingOf(&changes[i]).Rules; r != nil && r.Unreadable() == nil { // the fold reports unreadable entries
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

// end compares the stored turns with those that follow from the log and the rules. A user
// whose last turns are missing could draw more often than allowed.
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
