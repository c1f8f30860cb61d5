package agenda

import (
	"context"
	"database/sql"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// itemRowsMax is the most items of one INSERT, below every database's bound on
// parameters.
const itemRowsMax = 1000

// itemColumns are what scanItem reads.
func itemColumns() []string { return []string{"item", "at", "what", "body", "actor", "done"} }

func scanItem(row engine.Scanner) (draw.Item, error) { return scanItemWith(row) }

// scanItemWith is scanItem of a row that has more columns after those of the item.
func scanItemWith(row engine.Scanner, more ...any) (i draw.Item, err error) {
	var body string
	err = row.Scan(append([]any{&i.Number, engine.ScanTime(&i.At), (*string)(&i.Kind), &body, &i.Actor, &i.Done}, more...)...)
	i.ReadBody(body)
	return i, err
}

func (p *Planner) insertItems(ctx context.Context, tx *sql.Tx, poolID string, items []draw.Item) error {
	for n := 0; n < len(items); n += itemRowsMax {
		insert := p.ledger.InsertInto("agenda").Columns("pool_id", "item", "at", "what", "body", "actor")
		for _, i := range items[n:min(len(items), n+itemRowsMax)] {
			insert = insert.Values(poolID, i.Number, p.ledger.Engine.Time(i.At), string(i.Kind), i.Body(), i.Actor)
		}
		if _, err := insert.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openItems reads a column of the open items of a kind.
func (p *Planner) openItems(columns, poolID string, kind draw.ItemKind) squirrel.SelectBuilder {
	return p.ledger.SelectFrom("agenda", columns).Where(squirrel.Eq{"pool_id": poolID, "done": 0, "what": string(kind)})
}

// renewDue notes on a pool's row, which is locked, when its next item is due.
func (p *Planner) renewDue(ctx context.Context, tx *sql.Tx, poolID string) error {
	var due time.Time
	for _, kind := range []draw.ItemKind{draw.ItemState, draw.ItemRules, draw.ItemStock} {
		found, err := ledger.SelectAll(ctx, tx, p.openItems("at", poolID, kind).OrderBy("at", "item").Limit(1), scanTime)
		if err != nil {
			return err
		}
		if len(found) > 0 && (due.IsZero() || found[0].Before(due)) {
			due = found[0]
		}
	}
	var at any // NULL for none
	if !due.IsZero() {
		at = p.ledger.Engine.Time(due)
	}
	_, err := p.ledger.Builder().Update("pools").Set("due_at", at).Where(squirrel.Eq{"id": poolID}).RunWith(tx).ExecContext(ctx)
	return err
}

func scanTime(row engine.Scanner) (t time.Time, err error) {
	err = row.Scan(engine.ScanTime(&t))
	return t, err
}

// NextItems calls each with the open items that are due next of all pools, at most limit.
func (p *Planner) NextItems(ctx context.Context, q engine.Querier, limit uint64, each func(poolID string, item *draw.Item)) error {
	query := p.ledger.SelectFrom("agenda", append(itemColumns(), "pool_id")...).Where(squirrel.Eq{"done": 0}).OrderBy("at").Limit(limit)
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var poolID string
		item, err := scanItemWith(row, &poolID)
		if err == nil {
			each(poolID, &item)
		}
		return struct{}{}, err
	})
	return err
}
