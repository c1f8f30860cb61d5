package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// The rules of an audit about the agenda.
const (
	ruleDueMissed    = "due-missed"    // an item comes before each award at or after its time, and before each move more than draw.ItemLeftMax after its time
	ruleAgendaDouble = "agenda-double" // an item has one entry, which it planned or which states why it failed, and no entry belongs to two items
	ruleAgendaUndone = "agenda-undone" // an item is done within undoneMax; a moment, which waits for a draw, is excepted
)

// undoneMax is the longest time for which an item may be due. An item may be left to
// other instances for draw.ItemLeftMax; ten seconds are added to that.
const undoneMax = draw.ItemLeftMax + 10*time.Second

// auditedItem is an item with the data of the entry that is expected from it.
type auditedItem struct {
	number, done int64
	at           time.Time
	kind         draw.ItemKind
	prize, state string
	delta        int64
}

// agendaAuditor compares the agenda with the history, entry by entry.
type agendaAuditor struct {
	// items are in the order in which they left the agenda. next is the first of them
	// that is still in the agenda at the current entry.
	items []auditedItem
	next  int
	found *findings
	// last is the time of the last award, or of the last move that is not an item. Items
	// whose time is not after passes must be done before that entry.
	last   time.Time
	passes time.Time
	at     int64
	lastOf string
}

// newAgendaAuditor reads the agenda of a pool.
func (r *Auditor) newAgendaAuditor(ctx context.Context, q engine.Querier, poolID string, found *findings) (*agendaAuditor, error) {
	query := r.ledger.SelectFrom("agenda", "item", "at", "what", "body", "actor", "done").Where(squirrel.Eq{"pool_id": poolID})
	items, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (auditedItem, error) {
		var i auditedItem
		var body, actor string
		err := row.Scan(&i.number, engine.ScanTime(&i.at), (*string)(&i.kind), &body, &actor, &i.done)
		if i.kind != draw.ItemRules {
			var planned struct {
				State, Prize, Moment string
				Delta                int64
			}
			_ = json.Unmarshal([]byte(body), &planned) // a damaged body plans nothing
			i.state, i.prize, i.delta = planned.State, planned.Prize, planned.Delta
			if i.kind == draw.ItemMoment {
				i.prize, i.delta = planned.Moment, 1
			}
		}
		return i, err
	})
	slices.SortFunc(items, func(a, b auditedItem) int {
		return cmp.Or(cmp.Compare(a.left(), b.left()), cmp.Compare(a.number, b.number))
	})
	return &agendaAuditor{items: items, found: found}, err
}

// left returns the version at which the item left the agenda. For an open item it
// returns a version above all others.
func (i *auditedItem) left() uint64 {
	switch {
	case i.done > 0:
		return uint64(i.done)
	case i.done < 0:
		return uint64(-i.done)
	}
	return 1 << 63
}

// take checks the next entry.
func (a *agendaAuditor) take(e draw.Entry) {
	version := e.Version()
	planned := false
	for a.next < len(a.items) && a.items[a.next].left() <= uint64(max(version, 0)) {
		i := &a.items[a.next]
		a.next++
		a.missed(i)
		switch {
		case i.done < 0:
		case i.done != version || !i.became(e):
			a.found.add(ruleAgendaDouble, "version %d is not what item %d planned", i.done, i.number)
		case planned:
			a.found.add(ruleAgendaDouble, "version %d is two items, %d is one of them", version, i.number)
		default:
			planned = true
		}
	}
	switch {
	case planned:
	case e.Move != nil && itemOf(e.Move) != 0:
		a.found.add(ruleAgendaDouble, "the move of version %d is of item %d, which was done otherwise", version, itemOf(e.Move))
	case e.Change == nil:
		a.pass(e)
	}
}

// pass records an award or a move. Items that are due before it are passed over. A move
// may pass over an item for draw.ItemLeftMax, because its instance may have been unable
// to read the item.
func (a *agendaAuditor) pass(e draw.Entry) {
	passes := e.At()
	if e.Move != nil {
		passes = passes.Add(-draw.ItemLeftMax)
	}
	if !passes.Before(a.passes) {
		a.passes, a.last, a.at, a.lastOf = passes, e.At(), e.Version(), kindOf(e)
	}
}

// missed reports an item that an entry has passed over. It is called when the item leaves
// the agenda, and at the end.
func (a *agendaAuditor) missed(i *auditedItem) {
	if !a.last.IsZero() && !a.passes.Before(i.at) {
		a.found.add(ruleDueMissed, "the %s of version %d is of %s, and item %d of %s was not done",
			a.lastOf, a.at, a.last.Format(draw.TimeFormat), i.number, i.at.Format(draw.TimeFormat))
	}
}

// itemOf returns the number of the item that became a move, 0 if the move is not an item.
func itemOf(m *draw.Move) int64 { return cmp.Or(draw.ItemOfKey(m.Key), m.Moment()) }

// became reports whether an entry is the one that the item planned, or states why the
// item failed.
func (i *auditedItem) became(e draw.Entry) bool {
	switch {
	case e.Change != nil && e.Change.What == draw.WhatAgenda:
		var body draw.ItemDone
		return json.Unmarshal([]byte(e.Change.Body), &body) == nil && body.Item == i.number && body.Failed != ""
	case e.Change != nil && i.kind == draw.ItemState:
		return e.Change.What == draw.WhatState && e.Change.Body == draw.StateBody(draw.State(i.state))
	case e.Change != nil:
		return i.kind == draw.ItemRules && e.Change.What == draw.WhatRules
	case e.Move != nil:
		isOfKind := i.kind == draw.ItemStock && draw.ItemOfKey(e.Move.Key) == i.number || i.kind == draw.ItemMoment && e.Move.Moment() == i.number
		return isOfKind && e.Move.PrizeID == i.prize && e.Move.Delta == i.delta
	}
	return false
}

// end checks the remaining items, at a time of the database.
func (a *agendaAuditor) end(now time.Time) {
	for ; a.next < len(a.items); a.next++ {
		i := &a.items[a.next]
		if i.done > 0 {
			a.found.add(ruleAgendaDouble, "item %d was done as version %d, which is not there", i.number, i.done)
			continue
		}
		a.missed(i)
		if late := now.Sub(i.at); i.done == 0 && late > undoneMax && i.kind != draw.ItemMoment {
			a.found.add(ruleAgendaUndone, "item %d has been due for %s", i.number, late.Round(time.Second))
		}
	}
}

// endAgenda checks the remaining items, at the database's current time.
func (r *Auditor) endAgenda(ctx context.Context, q engine.Querier, a *agendaAuditor) error {
	now, err := r.ledger.DatabaseTime(ctx, q)
	if err == nil {
		a.end(now)
	}
	return err
}
