package agenda

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Agenda returns at most limit items of a pool, in order of their numbers. It begins with
// the first number that is greater than after. Removed items are left out, and if open is
// set, items that are done too. Hidden items of one prize and list are returned as one
// item: see [draw.Hidden]. Errors: CodePoolNotFound, and those of the store.
func (p *Planner) Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) (items []draw.Item, err error) {
	err = p.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		items, err = p.AgendaIn(ctx, tx, poolID, after, limit, open)
		return err
	})
	return items, err
}

// AgendaIn is Agenda in a snapshot.
func (p *Planner) AgendaIn(ctx context.Context, q engine.Querier, poolID string, after int64, limit int, open bool) (items []draw.Item, err error) {
	query := p.ledger.SelectFrom("agenda", append(itemColumns(), failedBody)...).Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.Gt{"item": after})
	query = p.visible(query)
	if open {
		query = query.Where(squirrel.Eq{"done": 0})
	} else {
		query = query.Where(squirrel.GtOrEq{"done": 0})
	}
	query = query.OrderBy("item").Limit(uint64(limit)) //nolint:gosec // checked by the caller
	if items, err = ledger.SelectAll(ctx, q, query, scanDoneItem); err != nil {
		return nil, err
	}
	lines, err := p.hiddenLines(ctx, q, poolID, after)
	items = append(items, lines...)
	slices.SortFunc(items, byNumber)
	return items[:min(len(items), limit)], err
}

// visible leaves out hidden items.
func (p *Planner) visible(query squirrel.SelectBuilder) squirrel.SelectBuilder {
	if p.ledger.Engine.Lacks(engine.PartMoments) {
		return query
	}
	return query.Where("NOT (" + isHidden + ")")
}

// AgendaPart returns a page of a part of a pool's agenda, in the order of that part. If
// open moves of stock are left out, the first page returns their number in omitted. A key
// orders the rows, so a page does not read all items, only those that its filter drops. If
// the pool has hidden lists, it reads all open moves of stock that are not hidden. The
// part of hidden items is always read as a whole. Errors: CodePoolNotFound,
// CodeInvalidRequest if no item of that part has the number After, and those of the store.
func (p *Planner) AgendaPart(ctx context.Context, poolID string, page draw.AgendaPage) (items []draw.Item, omitted int64, err error) {
	err = p.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		if page.Part == draw.AgendaHidden {
			items, err = p.hiddenLines(ctx, tx, poolID, page.After)
			slices.SortFunc(items, byNumber)
			return err
		}
		after, err := p.itemBefore(ctx, tx, poolID, page)
		if err != nil {
			return err
		}
		if page.Part == draw.AgendaDone {
			items, err = p.doneItems(ctx, tx, poolID, page, after)
			return err
		}
		if items, err = p.openByTime(ctx, tx, poolID, page, after); err != nil || !page.WithoutStock || after != nil {
			return err
		}
		hidden, err := p.hiddenRanges(ctx, tx, poolID)
		if err == nil {
			omitted, err = p.openMoves(ctx, tx, poolID, hidden)
		}
		return err
	})
	return items[:min(len(items), page.Limit)], omitted, err
}

// openMoves returns the number of open moves of stock of a pool outside its hidden ranges.
func (p *Planner) openMoves(ctx context.Context, tx *sql.Tx, poolID string, hidden []itemRange) (int64, error) {
	moves, err := ledger.SelectAll(ctx, tx, p.openItems("COUNT(*)", poolID, draw.ItemStock), ledger.ScanInt)
	if err != nil {
		return 0, err
	}
	for _, query := range openIn(p.ledger.Builder().Select("COUNT(*)").Where(squirrel.Eq{"agenda.what": string(draw.ItemStock)}), poolID, hidden) {
		found, err := ledger.SelectAll(ctx, tx, query, ledger.ScanInt)
		if err != nil {
			return 0, err
		}
		moves[0] -= found[0]
	}
	return moves[0], nil
}

// itemBefore returns the last item of the page before, nil for the first page.
func (p *Planner) itemBefore(ctx context.Context, tx *sql.Tx, poolID string, page draw.AgendaPage) (*draw.Item, error) {
	if page.After == 0 {
		return nil, nil
	}
	query := p.ledger.SelectFrom("agenda", itemColumns()...).Where(squirrel.Eq{"pool_id": poolID, "item": page.After})
	found, err := ledger.SelectAll(ctx, tx, query, scanItem)
	if err != nil {
		return nil, err
	}
	isUsable := len(found) > 0
	if isUsable && found[0].Done <= 0 { // its place would reveal its time, even if it was removed: its list may be planned again
		list, err := p.hiddenIn(ctx, tx, poolID, page.After)
		if err != nil {
			return nil, err
		}
		isUsable = page.Part != draw.AgendaDone && list == 0 && !(page.WithoutStock && found[0].Kind == draw.ItemStock)
	}
	if !isUsable {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "after is %d, and no such item is %s", page.After, page.Part)
	}
	return &found[0], nil
}

// doneItems reads a page of the done items, the last one first. after is the item before
// the page.
func (p *Planner) doneItems(ctx context.Context, tx *sql.Tx, poolID string, page draw.AgendaPage, after *draw.Item) ([]draw.Item, error) {
	query := p.within(p.ledger.SelectFrom("agenda", append(itemColumns(), failedBody)...).Where(squirrel.Eq{"pool_id": poolID}), &page)
	if page.Kind != "" {
		query = query.Where(squirrel.Eq{"what": string(page.Kind)})
	}
	isFiltered := page.Kind != "" || page.PrizeID != "" || !page.From.IsZero() || !page.To.IsZero()
	if after == nil || isFiltered { // the duration must not depend on which hidden items a filter selects
		query = query.Where(squirrel.Gt{"done": 0})
	}
	if after != nil { // with both bounds MariaDB reads all done items, so a page without a filter has only one bound
		query = query.Where(squirrel.Lt{"done": after.Done})
	}
	items, err := ledger.SelectAll(ctx, tx, query.OrderBy("done DESC").Limit(uint64(page.Limit)), scanDoneItem) //nolint:gosec // checked by the caller
	return slices.DeleteFunc(items, func(i draw.Item) bool { return i.Done <= 0 }), err
}

// within selects the items of a page's prize and span.
func (p *Planner) within(query squirrel.SelectBuilder, page *draw.AgendaPage) squirrel.SelectBuilder {
	if page.PrizeID != "" {
		ofPrize := squirrel.Or{}
		for _, member := range []string{"prize", "moment"} { // the body begins with its prize
			begin := `{"` + member + `":"` + page.PrizeID + `"`
			ofPrize = append(ofPrize, squirrel.Expr("SUBSTR(body, 1, "+strconv.Itoa(len(begin))+") = ?", begin))
		}
		query = query.Where(ofPrize)
	}
	if !page.From.IsZero() {
		query = query.Where(squirrel.GtOrEq{"agenda.at": p.ledger.Engine.Time(page.From.UTC())})
	}
	if !page.To.IsZero() {
		query = query.Where(squirrel.Lt{"agenda.at": p.ledger.Engine.Time(page.To.UTC())})
	}
	return query
}

// openByTime reads a page of the open items, without hidden ones, by time. after is the
// item before the page. It may be a removed item, because a removed item still has its
// time.
func (p *Planner) openByTime(ctx context.Context, tx *sql.Tx, poolID string, page draw.AgendaPage, after *draw.Item) (found []draw.Item, err error) {
	for _, kind := range kinds() { // the key orders the items of each kind
		if page.Kind != "" && page.Kind != kind || kind == draw.ItemMoment || page.WithoutStock && kind == draw.ItemStock {
			continue // open moments are hidden
		}
		of, err := p.visibleOf(ctx, tx, poolID, kind)
		if err != nil {
			return nil, err
		}
		for _, query := range of {
			query = p.within(query, &page)
			if after != nil {
				at := p.ledger.Engine.Time(after.At)
				query = query.Where(squirrel.GtOrEq{"agenda.at": at}).Where(squirrel.Or{squirrel.Gt{"agenda.at": at}, squirrel.Gt{"item": after.Number}})
			}
			items, err := ledger.SelectAll(ctx, tx, query.OrderBy("agenda.at", "item").Limit(uint64(page.Limit)), scanItem) //nolint:gosec // checked by the caller
			if err != nil {
				return nil, err
			}
			found = append(found, items...)
		}
	}
	slices.SortFunc(found, byTime)
	return found, nil
}

// visibleOf returns the queries that read a pool's open items of a kind that are not hidden.
// If the pool has hidden items, moves of stock are read by their numbers: a read by time
// passes the hidden ones of the span, and its duration would reveal how many these are.
func (p *Planner) visibleOf(ctx context.Context, tx *sql.Tx, poolID string, kind draw.ItemKind) ([]squirrel.SelectBuilder, error) {
	if kind == draw.ItemStock {
		hidden, err := p.hiddenRanges(ctx, tx, poolID)
		if err != nil {
			return nil, err
		}
		if len(hidden) > 0 {
			return openIn(p.ledger.Builder().Select(itemColumns()...).Where(squirrel.Eq{"agenda.what": string(kind)}), poolID, between(hidden)), nil
		}
	}
	return []squirrel.SelectBuilder{p.ledger.SelectFrom("agenda", itemColumns()...).Where(squirrel.Eq{"pool_id": poolID, "done": 0, "what": string(kind)})}, nil
}

func byNumber(a, b draw.Item) int { return cmp.Compare(a.Number, b.Number) }

// byTime is the order in which items are carried out.
func byTime(a, b draw.Item) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Number, b.Number)) }

// failedBody selects the body of the change that states why an item failed. It is NULL
// for an item that became a state, rules or a move.
const failedBody = `(SELECT c.body FROM changes AS c WHERE c.pool_id = agenda.pool_id AND c.version = agenda.done AND c.what = '` + string(draw.WhatAgenda) + `')`

// scanDoneItem is scanItem of a row with failedBody.
func scanDoneItem(row engine.Scanner) (draw.Item, error) {
	var body sql.NullString
	i, err := scanItemWith(row, &body)
	if err != nil || !body.Valid {
		return i, err
	}
	var failed draw.ItemDone
	if err := json.Unmarshal([]byte(body.String), &failed); err == nil { // a later release may have written another body
		i.Failed = failed.Failed
	}
	return i, nil
}
