package agenda

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// PlanItem plans one item and returns it with its number. ImportAgenda explains the
// key. A moment is planned by [Planner.PlanMoment]. Errors: CodeInvalidRequest, also
// for a time in the past, CodePoolNotFound, CodePoolClosed, CodeKeyReused, and those of
// the store.
func (p *Planner) PlanItem(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Item, error) {
	if item.Kind == draw.ItemMoment {
		return draw.Item{}, draw.Errorf(draw.CodeInvalidRequest, "a moment is hidden: its answer does not show it")
	}
	items := []draw.Item{item}
	once := planKey{key, "item " + string(items[0].Shown(""))}
	if err := once.check(); err != nil {
		return draw.Item{}, err
	}
	planned, err := p.plan(ctx, poolID, list{items: items, key: once}, actor, func(draw.Planned) []any { return []any{items[0].Shown(once.mark())} })
	if err != nil || !planned.Replayed {
		return items[0], err
	}
	return p.plannedItem(ctx, poolID, planned.First)
}

// list holds the items that one request plans together. If hides is set, all its items
// are hidden until they are done; otherwise only its moments are. from and to are the
// span over which the items were spread, zero if they were not spread.
type list struct {
	items    []draw.Item
	key      planKey
	salt     string
	hides    bool
	from, to time.Time
	// sha256 is the SHA-256 of the seal.
	sha256 string
}

// PlanItems plans stock items and moments together, all or none, by one change. That
// change records their number and the SHA-256 of the seal. Moments get numbers after
// those of the stock items. Errors: CodeInvalidRequest, which names the lines of a file,
// and those of PlanItem.
func (p *Planner) PlanItems(ctx context.Context, poolID string, items []draw.Item, salt, actor string) (draw.Planned, error) {
	return p.planItems(ctx, poolID, list{items: items, salt: salt}, actor)
}

// bodies returns the body of the one change that plans the items of a sealed list.
func (l *list) bodies(planned draw.Planned) []any {
	return []any{plannedBody{planned.First, planned.Count, l.sha256, l.key.mark()}}
}

func (p *Planner) planItems(ctx context.Context, poolID string, l list, actor string) (draw.Planned, error) {
	if len(l.items) == 0 || len(l.items) > draw.AgendaMax {
		return draw.Planned{}, draw.Errorf(draw.CodeInvalidRequest, "1 to %d items can be planned at once, and not %d", draw.AgendaMax, len(l.items))
	}
	momentsLast(l.items)
	seal := draw.NewSeal(l.salt, l.items)
	l.sha256 = seal.SHA256
	planned, err := p.plan(ctx, poolID, l, actor, l.bodies)
	if !planned.Replayed {
		planned.Seal = seal
	}
	return planned, err
}

// plan numbers and writes items, unless the same key has already planned them.
func (p *Planner) plan(ctx context.Context, poolID string, l list, actor string, bodies func(draw.Planned) []any) (planned draw.Planned, err error) {
	if err := draw.CheckActor(actor); err != nil {
		return planned, err
	}
	err = p.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := p.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if planned, err = p.plannedBy(ctx, tx, poolID, l.key); err != nil || planned.Replayed {
			return err
		}
		planned, err = p.planIn(ctx, tx, of, &l, bodies)
		return err
	})
	if err == nil && !planned.Replayed {
		p.ledger.Changed(poolID)
	}
	return planned, err
}

// planIn is plan for a pool whose row is locked. bodies returns the bodies of the changes
// that plan the items. Its argument has the version of the first of these changes.
func (p *Planner) planIn(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, l *list, bodies func(draw.Planned) []any) (planned draw.Planned, err error) {
	poolID, items := of.Pool.ID, l.items
	last, err := p.check(ctx, tx, of, items)
	if err != nil {
		return planned, err
	}
	for i := range items {
		items[i].Number, items[i].Actor = last+int64(i)+1, of.Actor
		items[i].At = items[i].At.UTC().Truncate(time.Microsecond)
	}
	if err := p.insertItems(ctx, tx, poolID, items); err != nil {
		return planned, err
	}
	planned = draw.Planned{First: last + 1, Version: of.Head.Version + 1, Count: len(items)}
	if err := p.hide(ctx, tx, poolID, l, planned); err != nil {
		return planned, err
	}
	var changes []ledger.NewChange
	for _, body := range bodies(planned) {
		changes = append(changes, ledger.NewChange{What: draw.WhatAgenda, Body: body})
	}
	if err := p.ledger.Record(ctx, tx, of, changes); err != nil {
		return planned, err
	}
	return planned, p.renewDue(ctx, tx, poolID)
}

// check returns the reason why items cannot be planned in a pool, otherwise the number of
// the agenda's last item.
func (p *Planner) check(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, items []draw.Item) (last int64, err error) {
	if err := cmp.Or(of.Pool.CheckNotClosed(), p.checkOpens(ctx, tx, of, items), p.checkMoments(ctx, tx, of, items)); err != nil {
		return 0, err
	}
	prizes, err := p.ledger.Prizes(ctx, tx, of.Pool.ID)
	if err != nil {
		return 0, err
	}
	if err := checkItems(items, of.At, prizes); err != nil {
		return 0, err
	}
	return p.checkAgenda(ctx, tx, of.Pool.ID, items)
}

// checkItems returns the reason why items cannot be planned in a pool at a time.
func checkItems(items []draw.Item, now time.Time, prizes []draw.Prize) error {
	byID := make(map[string]*draw.Prize, len(prizes))
	for i := range prizes {
		byID[prizes[i].ID] = &prizes[i]
	}
	var bad prizefile.BadLines
	for i := range items {
		err := checkItem(&items[i], now, byID, prizes)
		switch {
		case err == nil:
		case items[i].Line == 0:
			return err
		default:
			bad.Add(items[i].Line, "%s", draw.DetailOf(err))
		}
	}
	return bad.Err()
}

func checkItem(item *draw.Item, now time.Time, byID map[string]*draw.Prize, prizes []draw.Prize) error {
	if err := item.Check(); err != nil {
		return err
	}
	if !item.At.Truncate(time.Microsecond).After(now) {
		return draw.Errorf(draw.CodeInvalidRequest, "at has passed: it is %s; what is to be done now needs no agenda", now.UTC().Format(draw.TimeFormat))
	}
	switch item.Kind {
	case draw.ItemStock, draw.ItemMoment:
		prize := byID[item.Stock.PrizeID]
		if prize == nil {
			return draw.Errorf(draw.CodeInvalidRequest, "the pool has no prize %q", item.Stock.PrizeID)
		}
		if item.Kind == draw.ItemMoment && !prize.IsWin() {
			return draw.Errorf(draw.CodeInvalidRequest, "moment names %q, which is a blank", prize.ID)
		}
		return item.Stock.Admit(prize)
	case draw.ItemRules:
		if item.Rules != nil {
			return item.Rules.Check(prizes)
		}
	case draw.ItemState:
	}
	return nil
}

// checkAgenda returns the highest number of an item. It returns an error if the agenda
// has no room for more items.
func (p *Planner) checkAgenda(ctx context.Context, tx *sql.Tx, poolID string, items []draw.Item) (last int64, err error) {
	ofPool := squirrel.Eq{"pool_id": poolID}
	found, err := ledger.SelectAll(ctx, tx, p.ledger.SelectFrom("agenda", "item").Where(ofPool).OrderBy("item DESC").Limit(1), ledger.ScanInt)
	if err != nil {
		return 0, err
	}
	if len(found) > 0 {
		last = found[0]
	}
	if last+int64(len(items)) > draw.OpenItemsMax { // the agenda never has more open items than planned items
		open, err := ledger.SelectAll(ctx, tx, p.ledger.SelectFrom("agenda", "COUNT(*)").Where(ofPool).Where(squirrel.Eq{"done": 0}), ledger.ScanInt)
		if err != nil {
			return 0, err
		}
		if open[0]+int64(len(items)) > draw.OpenItemsMax {
			return 0, draw.Errorf(draw.CodeInvalidRequest, "pool %q has %d open items, and may have %d", poolID, open[0], draw.OpenItemsMax)
		}
	}
	return last, p.checkInstants(ctx, tx, poolID, last, items)
}

// checkInstants checks the items with numbers above last. It returns an error if one of
// them sets the state at the same instant as another item.
func (p *Planner) checkInstants(ctx context.Context, tx *sql.Tx, poolID string, last int64, items []draw.Item) error {
	numbers := map[time.Time]int64{}
	var instants []any
	for i := range items {
		if items[i].Kind != draw.ItemState {
			continue
		}
		at := items[i].At.UTC().Truncate(time.Microsecond)
		if same := numbers[at]; same != 0 {
			return errSameInstant(same)
		}
		numbers[at] = last + int64(i) + 1
		instants = append(instants, p.ledger.Engine.Time(at))
	}
	if len(instants) == 0 {
		return nil
	}
	same, err := ledger.SelectAll(ctx, tx, p.openItems("item", poolID, draw.ItemState).Where(squirrel.Eq{"at": instants}), ledger.ScanInt)
	if err == nil && len(same) > 0 {
		err = errSameInstant(same[0])
	}
	return err
}

func errSameInstant(number int64) error {
	return draw.Errorf(draw.CodeInvalidRequest, "item %d sets the state at the same instant", number)
}

// RemoveItem removes an open item, by a change. A hidden item can only be removed
// together with its list. Errors: CodePoolNotFound, CodeNotFound, CodeAgendaDone,
// CodePoolClosed, CodeInvalidRequest, and those of the store.
func (p *Planner) RemoveItem(ctx context.Context, poolID string, number int64, actor string) error {
	if err := draw.CheckActor(actor); err != nil {
		return err
	}
	err := p.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := p.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		ofItem := squirrel.Eq{"pool_id": poolID, "item": number}
		done, err := ledger.SelectAll(ctx, tx, p.ledger.SelectFrom("agenda", "done").Where(ofItem), ledger.ScanInt)
		switch {
		case err != nil:
			return err
		case len(done) == 0 || done[0] < 0:
			return draw.Errorf(draw.CodeNotFound, "the agenda of pool %q has no item %d", poolID, number)
		case done[0] > 0:
			return draw.Errorf(draw.CodeAgendaDone, "item %d was done, as version %d", number, done[0])
		}
		if err := cmp.Or(of.Pool.CheckNotClosed(), p.checkVisible(ctx, tx, poolID, number)); err != nil {
			return err
		}
		if err := ledger.ExecOne(ctx, tx, p.ledger.Builder().Update("agenda").Set("done", -of.Head.Version-1).Where(ofItem)); err != nil {
			return err
		}
		body := map[string]any{"item": number, "removed": true}
		if err := p.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatAgenda, Body: body}}); err != nil {
			return err
		}
		return p.renewDue(ctx, tx, poolID)
	})
	if err == nil {
		p.ledger.Changed(poolID)
	}
	return err
}

// Opening returns when the agenda next opens a pool, and when it next pauses or closes
// it. The zero time means never. A closing is final, so an opening after it never
// happens. Errors: those of the store.
func (p *Planner) Opening(ctx context.Context, poolID string) (opens, closes time.Time, err error) {
	err = p.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if opens, err = p.nextState(ctx, tx, poolID, draw.StateOpen); err != nil {
			return err
		}
		if closes, err = p.nextState(ctx, tx, poolID, draw.StatePaused, draw.StateClosed); err != nil {
			return err
		}
		ends, err := p.nextState(ctx, tx, poolID, draw.StateClosed)
		if !ends.IsZero() && opens.After(ends) {
			opens = time.Time{}
		}
		return err
	})
	return opens, closes, err
}

func (p *Planner) nextState(ctx context.Context, tx *sql.Tx, poolID string, states ...draw.State) (time.Time, error) {
	bodies := make([]string, len(states))
	for i, state := range states {
		bodies[i] = draw.StateBody(state)
	}
	query := p.openItems("at", poolID, draw.ItemState).Where(squirrel.Eq{"body": bodies}).OrderBy("at", "item").Limit(1)
	found, err := ledger.SelectAll(ctx, tx, query, scanTime)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return found[0], nil
}

// checkOpens returns an error if an item would open a pool with a beacon, because an item
// has no beacon round.
func (p *Planner) checkOpens(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, items []draw.Item) error {
	opens := slices.ContainsFunc(items, func(i draw.Item) bool { return i.Kind == draw.ItemState && i.State == draw.StateOpen })
	if !opens {
		return nil
	}
	_, err := p.ledger.Guard.MayChange(ctx, tx, of, ledger.OpensByItem)
	if e, ok := errors.AsType[*draw.Error](err); ok && e.Code == draw.CodeRoundNotAnnounced {
		return draw.Errorf(draw.CodeInvalidRequest, "%s", e.Detail)
	}
	return err
}

// itemRowsMax is the maximum number of items in one INSERT. It keeps the number of
// parameters below the limit of every database.
const itemRowsMax = 1000

// itemColumns returns the columns for scanItem.
func itemColumns() []string {
	return []string{"agenda.item", "agenda.at", "agenda.what", "agenda.body", "agenda.actor", "agenda.done"} // other tables have columns with these names
}

func scanItem(row engine.Scanner) (draw.Item, error) { return scanItemWith(row) }

// scanItemWith is scanItem of a row that has more columns after those of the item.
func scanItemWith(row engine.Scanner, more ...any) (i draw.Item, err error) {
	var body string
	err = row.Scan(append([]any{&i.Number, engine.ScanTime(&i.At), (*string)(&i.Kind), &body, &i.Actor, &i.Done}, more...)...)
	i.ReadBody(body, rules.ReadOf)
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

// openItems selects columns of the open items of one kind.
func (p *Planner) openItems(columns, poolID string, kind draw.ItemKind) squirrel.SelectBuilder {
	return p.ledger.SelectFrom("agenda", columns).Where(squirrel.Eq{"pool_id": poolID, "done": 0, "what": string(kind)})
}

// kinds lists the kinds of items.
func kinds() [4]draw.ItemKind {
	return [...]draw.ItemKind{draw.ItemState, draw.ItemRules, draw.ItemStock, draw.ItemMoment}
}

// renewDue records in a pool's row, which is locked, when its next item is due.
func (p *Planner) renewDue(ctx context.Context, tx *sql.Tx, poolID string) error {
	var due time.Time
	for _, kind := range kinds() {
		found, err := ledger.SelectAll(ctx, tx, p.openItems("at", poolID, kind).OrderBy("at", "item").Limit(1), scanTime)
		if err != nil {
			return err
		}
		if len(found) > 0 && (due.IsZero() || found[0].Before(due)) {
			due = found[0]
		}
	}
	var at any // nil is stored as NULL
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

// NextItems calls the function each for the open items of all pools, without moments, in
// the order in which they are due. It stops after limit items.
func (p *Planner) NextItems(ctx context.Context, q engine.Querier, limit uint64, each func(poolID string, item *draw.Item)) error {
	query := p.ledger.SelectFrom("agenda", append(itemColumns(), "pool_id")...).Where(squirrel.Eq{"done": 0}).Where(notMoment).OrderBy("at").Limit(limit)
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
