package agenda

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// AgendaSums returns the units that a pool's agenda releases, by prize and by the spans
// between the given times, which are in order. The database reads every item and adds the
// units up: it returns one row for each span and each different plan. withoutStock leaves
// out open moves of stock. Errors: CodePoolNotFound, and those of the store.
func (p *Planner) AgendaSums(ctx context.Context, poolID string, times []time.Time, withoutStock bool) (sums draw.AgendaSums, err error) {
	span, values := "0", make([]any, len(times))
	if len(times) > 0 {
		cases := make([]string, len(times))
		for i, at := range times {
			values[i] = p.ledger.Engine.Time(at.UTC())
			cases[i] = fmt.Sprintf("WHEN agenda.at < ? THEN %d", i)
		}
		span = fmt.Sprintf("CASE %s ELSE %d END", strings.Join(cases, " "), len(times))
	}
	const plan = "CASE WHEN agenda.what IN ('stock', 'moment') THEN agenda.body ELSE '' END AS plan"
	columns := []string{"agenda.what", plan, "CASE WHEN done > 0 THEN 1 ELSE 0 END AS is_done", "COUNT(*)", "MIN(agenda.at)", "MAX(agenda.at)"}
	of := p.ledger.Builder().Select().Column(squirrel.Expr(span+" AS span", values...)).Columns(columns...).
		Where(squirrel.Eq{"agenda.pool_id": poolID}).GroupBy("span", "agenda.what", "plan", "is_done")
	done, open := of.From("agenda").Where(squirrel.Gt{"done": 0}), of
	if withoutStock {
		open = open.Where(squirrel.NotEq{"agenda.what": string(draw.ItemStock)})
	}
	failed := of.From("changes AS c JOIN agenda ON agenda.pool_id = c.pool_id AND agenda.done = c.version").
		Where(squirrel.Eq{"c.pool_id": poolID, "c.what": string(draw.WhatAgenda)})
	err = p.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		hidden, err := p.hiddenRanges(ctx, tx, poolID)
		if err != nil {
			return err
		}
		adding := adder{at: map[sumKey]int{}}
		for _, query := range append(openIn(open, poolID, between(hidden)), done) {
			_, err := ledger.SelectAll(ctx, tx, query, adding.scan(func(s *draw.AgendaSum, isDone bool, items, units int64) {
				if s.Items += items; isDone {
					s.Done += units
				} else {
					s.Planned += units
				}
			}))
			if err != nil {
				return err
			}
		}
		_, err = ledger.SelectAll(ctx, tx, failed, adding.scan(func(s *draw.AgendaSum, _ bool, _, units int64) {
			s.Done, s.Failed = s.Done-units, s.Failed+units
		}))
		sums = adding.sums
		if err == nil && withoutStock {
			sums.Omitted, err = p.openMoves(ctx, tx, poolID, hidden)
		}
		slices.SortFunc(sums.Sums, func(a, b draw.AgendaSum) int {
			return cmp.Or(cmp.Compare(a.Span, b.Span), cmp.Compare(a.PrizeID, b.PrizeID))
		})
		return err
	})
	return sums, err
}

type sumKey struct {
	span    int
	prizeID string
}

// adder adds up rows of equal items.
type adder struct {
	sums draw.AgendaSums
	// at are the indexes in sums.
	at map[sumKey]int
}

// scan returns a function that reads a row of equal items. It calls the given function
// with the sum to which the items belong.
func (a *adder) scan(to func(s *draw.AgendaSum, isDone bool, items, units int64)) func(row engine.Scanner) (struct{}, error) {
	return func(row engine.Scanner) (_ struct{}, err error) {
		var item draw.Item
		var body string
		var span, isDone int
		var items int64
		var first, last time.Time
		if err := row.Scan(&span, (*string)(&item.Kind), &body, &isDone, &items, engine.ScanTime(&first), engine.ScanTime(&last)); err != nil {
			return struct{}{}, err
		}
		if a.sums.First.IsZero() || first.Before(a.sums.First) {
			a.sums.First = first
		}
		if last.After(a.sums.Last) {
			a.sums.Last = last
		}
		if item.Kind != draw.ItemStock && item.Kind != draw.ItemMoment {
			return struct{}{}, nil
		}
		item.ReadBody(body, nil)
		if item.Unreadable() != nil {
			return struct{}{}, nil //nolint:nilerr // a later release planned it
		}
		key := sumKey{span, item.Stock.PrizeID}
		i, known := a.at[key]
		if !known {
			i = len(a.sums.Sums)
			a.at[key] = i
			a.sums.Sums = append(a.sums.Sums, draw.AgendaSum{Span: span, PrizeID: item.Stock.PrizeID})
		}
		to(&a.sums.Sums[i], isDone == 1, items, items*item.Stock.Delta)
		return struct{}{}, nil
	}
}
