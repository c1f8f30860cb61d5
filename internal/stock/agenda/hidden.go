package agenda

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// isHidden is the condition that selects items that are still hidden.
const isHidden = `done = 0 AND EXISTS (SELECT 1 FROM hidden_items AS h WHERE h.pool_id = agenda.pool_id AND agenda.item BETWEEN h.first_item AND h.last_item)`

// hide records which items of a list are hidden: the last ones.
func (p *Planner) hide(ctx context.Context, tx *sql.Tx, poolID string, l *list, planned draw.Planned) error {
	hidden := len(l.items)
	if !l.hides {
		hidden = 0
		for i := range l.items {
			if l.items[i].Kind == draw.ItemMoment {
				hidden++
			}
		}
	}
	if hidden == 0 || p.ledger.Engine.Lacks(engine.PartMoments) {
		return nil
	}
	insert := p.ledger.InsertInto("hidden_items").Columns("pool_id", "version", "first_item", "last_item", "moments", "sha256", "begins_at", "ends_at")
	last := planned.First + int64(len(l.items)) - 1
	insert = insert.Values(poolID, planned.Version, last-int64(hidden)+1, last, isMoment(l.items[len(l.items)-1]), l.sha256, p.maybeTime(l.from), p.maybeTime(l.to))
	_, err := insert.RunWith(tx).ExecContext(ctx)
	return err
}

// ForgetHidden removes the records of a pool's hidden items, when the pool is deleted.
func (p *Planner) ForgetHidden(ctx context.Context, tx *sql.Tx, poolID string) error {
	if p.ledger.Engine.Lacks(engine.PartMoments) {
		return nil
	}
	_, err := p.ledger.Builder().Delete("hidden_items").Where(squirrel.Eq{"pool_id": poolID}).RunWith(tx).ExecContext(ctx)
	return err
}

// momentsLast puts moments after the other items and keeps the order within each group.
// So the numbers of visible items reveal nothing about the times of hidden items.
func momentsLast(items []draw.Item) {
	slices.SortStableFunc(items, func(a, b draw.Item) int {
		return cmp.Compare(rank(a), rank(b))
	})
}

func rank(i draw.Item) int {
	if i.Kind == draw.ItemMoment {
		return 1
	}
	return 0
}

// maybeTime returns a time in the form that is stored, NULL for the zero time.
func (p *Planner) maybeTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return p.ledger.Engine.Time(t.UTC())
}

// hiddenLines returns a pool's hidden items in their visible form: one item for each
// prize and list, with the number of the first hidden item. It returns only items whose
// number is greater than after.
func (p *Planner) hiddenLines(ctx context.Context, q engine.Querier, poolID string, after int64) (lines []draw.Item, err error) {
	if p.ledger.Engine.Lacks(engine.PartMoments) {
		return nil, nil
	}
	query := p.ledger.SelectFrom("hidden_items AS h JOIN agenda AS a ON a.pool_id = h.pool_id AND a.item BETWEEN h.first_item AND h.last_item AND a.done = 0",
		"h.version", "h.sha256", "h.begins_at", "h.ends_at", "a.what", "a.body", "COUNT(*)", "MIN(a.item)").
		Where(squirrel.Eq{"h.pool_id": poolID}).GroupBy("h.version", "h.sha256", "h.begins_at", "h.ends_at", "a.what", "a.body").OrderBy("h.version")
	_, err = ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var h draw.Hidden
		var kind draw.ItemKind
		var body string
		var count, first int64
		err := row.Scan(&h.Version, &h.SHA256, engine.ScanTime(&h.From), engine.ScanTime(&h.To), (*string)(&kind), &body, &count, &first)
		item := draw.Item{Kind: kind}
		item.ReadBody(body, nil)
		h.PrizeID, h.Count, h.IsMoments = item.Stock.PrizeID, count*item.Stock.Delta, kind == draw.ItemMoment
		lines = addLine(lines, draw.Item{Number: first, Kind: kind, Hidden: &h})
		return struct{}{}, err
	})
	return slices.DeleteFunc(lines, func(i draw.Item) bool { return i.Number <= after }), err
}

// addLine adds a hidden item to the line of its prize and list. If a spread releases
// several units at the same instant, they are a single item with its own body.
func addLine(lines []draw.Item, line draw.Item) []draw.Item {
	for i := range lines {
		if h := lines[i].Hidden; h.Version == line.Hidden.Version && h.PrizeID == line.Hidden.PrizeID {
			h.Count += line.Hidden.Count
			lines[i].Number = min(lines[i].Number, line.Number)
			return lines
		}
	}
	return append(lines, line)
}

// checkVisible returns an error if an item is open and hidden: removing it would reveal
// its content.
func (p *Planner) checkVisible(ctx context.Context, q engine.Querier, poolID string, number int64) error {
	version, err := p.hiddenIn(ctx, q, poolID, number)
	if err == nil && version > 0 {
		err = draw.Errorf(draw.CodeInvalidRequest, "item %d is hidden until it is done; remove all that was planned with it, as version %d", number, version)
	}
	return err
}

// hiddenIn returns the version that planned an item as a hidden one, 0 for none. The item
// may be done or removed.
func (p *Planner) hiddenIn(ctx context.Context, q engine.Querier, poolID string, number int64) (version int64, err error) {
	if p.ledger.Engine.Lacks(engine.PartMoments) {
		return 0, nil
	}
	of, err := ledger.SelectAll(ctx, q, p.ledger.SelectFrom("hidden_items", "version").Where(squirrel.Eq{"pool_id": poolID}).
		Where(squirrel.LtOrEq{"first_item": number}).Where(squirrel.GtOrEq{"last_item": number}), ledger.ScanInt)
	if err != nil || len(of) == 0 {
		return 0, err
	}
	return of[0], nil
}

// RemovePlanned removes, by a change, the open items that the change of a version
// planned, and returns their number. Errors: CodePoolNotFound, CodeNotFound,
// CodeAgendaDone if all of them are done, CodePoolClosed, and those of the store.
func (p *Planner) RemovePlanned(ctx context.Context, poolID string, version int64, actor string) (removed int64, err error) {
	if err := draw.CheckActor(actor); err != nil {
		return 0, err
	}
	err = p.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := p.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		planned, err := p.plannedAt(ctx, tx, poolID, version)
		if err != nil {
			return err
		}
		items := squirrel.And{squirrel.Eq{"pool_id": poolID}, squirrel.GtOrEq{"item": planned.Item}, squirrel.Lt{"item": planned.Item + int64(planned.Count)}}
		open, err := ledger.SelectAll(ctx, tx, p.ledger.SelectFrom("agenda", "COUNT(*)").Where(items).Where(squirrel.Eq{"done": 0}), ledger.ScanInt)
		if err != nil {
			return err
		}
		if removed = open[0]; removed == 0 {
			return draw.Errorf(draw.CodeAgendaDone, "all items that version %d planned are done or removed", version)
		}
		if err := of.Pool.CheckNotClosed(); err != nil {
			return err
		}
		update := p.ledger.Builder().Update("agenda").Set("done", -of.Head.Version-1).Where(items).Where(squirrel.Eq{"done": 0})
		if _, err := update.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
		body := removedBody{Import: version, Removed: true, Count: removed}
		if err := p.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatAgenda, Body: body}}); err != nil {
			return err
		}
		return p.renewDue(ctx, tx, poolID)
	})
	if err == nil {
		p.ledger.Changed(poolID)
	}
	return removed, err
}

// removedBody is the body of the change that removes the items of one list.
type removedBody struct {
	// Import is the version of the change that planned the items.
	Import  int64 `json:"import"`
	Removed bool  `json:"removed"`
	Count   int64 `json:"count"`
}

// plannedAt returns the items that were planned by the change with a version. Error:
// CodeNotFound.
func (p *Planner) plannedAt(ctx context.Context, tx *sql.Tx, poolID string, version int64) (planned plannedBody, err error) {
	change, err := p.ledger.ChangeAt(ctx, tx, poolID, version)
	if err != nil {
		return planned, err
	}
	if change != nil && change.What == draw.WhatAgenda {
		_ = json.Unmarshal([]byte(change.Body), &planned) // other changes of the agenda plan no list
	}
	if planned.SHA256 == "" || planned.Count == 0 {
		return planned, draw.Errorf(draw.CodeNotFound, "version %d of pool %q plans no import and no spread", version, poolID)
	}
	return planned, nil
}
