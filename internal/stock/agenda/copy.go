package agenda

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// Source holds the agenda of a pool that is copied: all items that were planned and were
// not removed.
type Source struct {
	items  []draw.Item
	hidden []itemRange
}

// Rules returns the planned rules, in the order of their items, done or not.
func (s *Source) Rules() (all []*draw.Rules) {
	for i := range s.items {
		if s.items[i].Rules != nil {
			all = append(all, s.items[i].Rules)
		}
	}
	return all
}

// ReadSource reads a pool's agenda in order to copy it. Errors: CodeInvalidRequest for
// more than [draw.AgendaMax] items, CodeRulesUnreadable, and those of the store.
func (p *Planner) ReadSource(ctx context.Context, tx *sql.Tx, poolID string) (*Source, error) {
	query := p.ledger.SelectFrom("agenda", itemColumns()...).Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.GtOrEq{"done": 0}).
		OrderBy("item").Limit(draw.AgendaMax + 1)
	items, err := ledger.SelectAll(ctx, tx, query, scanItem)
	if err != nil {
		return nil, err
	}
	if len(items) > draw.AgendaMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the agenda of pool %q has more than %d items; copy the pool without days, and import them", poolID, draw.AgendaMax)
	}
	for i := range items {
		if err := cmp.Or(items[i].Unreadable(), items[i].Rules.Unreadable()); err != nil {
			return nil, err
		}
		items[i].Stock.Reason = draw.ReasonAgain(items[i].Stock.Reason)
	}
	hidden, err := p.hiddenRanges(ctx, tx, poolID)
	return &Source{items, hidden}, err
}

// CopyIn plans the items of a source, at shifted times, for a new pool that the
// transaction has created. Items that are or were hidden are spread again, at random,
// over their shifted span. So the old instants reveal nothing about the new ones. CopyIn
// returns the planned lists with their seals. Errors: CodeInvalidRequest, also for a time
// in the past, and those of the store.
func (p *Planner) CopyIn(ctx context.Context, tx *sql.Tx, from *Source, of *ledger.LockedPool, shift func(time.Time) time.Time) (planned []draw.Planned, err error) {
	c := copying{hidden: from.hidden, shift: shift}
	for _, item := range from.items {
		c.add(item)
	}
	lists, err := c.lists()
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(c.single, singleMax) {
		if _, err := p.planIn(ctx, tx, of, &list{items: part}, func(draw.Planned) []any { return bodiesOf(part) }); err != nil {
			return nil, err
		}
	}
	for _, l := range lists {
		momentsLast(l.items)
		seal := draw.NewSeal(rand.Text(), l.items)
		l.sha256 = seal.SHA256
		done, err := p.planIn(ctx, tx, of, &l, l.bodies)
		if err != nil {
			return nil, err
		}
		done.Seal = seal
		planned = append(planned, done)
	}
	return planned, nil
}

// singleMax is the maximum number of states and rules in one INSERT. It is small because
// rules documents may be long.
const singleMax = 100

// bodiesOf returns the bodies of the changes that plan items one by one.
func bodiesOf(items []draw.Item) (all []any) {
	for i := range items {
		all = append(all, items[i].Shown(""))
	}
	return all
}

// copying sorts the items of an agenda by the way in which they are copied.
type copying struct {
	hidden []itemRange
	shift  func(time.Time) time.Time
	// single holds states and rules. moves holds the moves that were never hidden.
	single, moves []draw.Item
	// spreads holds the items that are spread again, in the order of their first items.
	spreads []spreadAgain
	// opens and ends are times in the source: that of the first opening, and that of the
	// last pause or close.
	opens, ends time.Time
}

// spreadAgain holds the items of one list, prize and reason.
type spreadAgain struct {
	version int64
	draw.Spread
}

func (c *copying) add(item draw.Item) {
	if item.Kind == draw.ItemState {
		if item.State == draw.StateOpen && (c.opens.IsZero() || item.At.Before(c.opens)) {
			c.opens = item.At
		}
		if item.State != draw.StateOpen && item.At.After(c.ends) {
			c.ends = item.At
		}
	}
	for _, r := range c.hidden {
		if r.first <= item.Number && item.Number <= r.last {
			c.spread(r, &item)
			return
		}
	}
	item.At, item.Done, item.Line = c.shift(item.At), 0, 0
	if item.Kind == draw.ItemStock {
		c.moves = append(c.moves, item)
		return
	}
	c.single = append(c.single, item)
}

// spread adds the units of a hidden item to the entry of its list, prize and reason.
func (c *copying) spread(r itemRange, item *draw.Item) {
	for i := range c.spreads {
		if s := &c.spreads[i]; s.version == r.version && s.PrizeID == item.Stock.PrizeID && s.Reason == item.Stock.Reason {
			s.Units += item.Stock.Delta
			return
		}
	}
	c.spreads = append(c.spreads, spreadAgain{r.version, draw.Spread{
		PrizeID: item.Stock.PrizeID, Units: item.Stock.Delta, From: r.from, To: r.to, Reason: item.Stock.Reason, IsMoments: item.Kind == draw.ItemMoment,
	}})
}

// lists returns the lists of items, each planned by one request. The moments of a file
// have no span: they are spread from the first opening to the last pause or close.
func (c *copying) lists() (all []list, err error) {
	if len(c.moves) > 0 {
		all = append(all, list{items: c.moves})
	}
	for _, s := range c.spreads {
		if s.From.IsZero() {
			s.From, s.To = c.opens, c.ends
		}
		if s.From.IsZero() || !s.From.Before(s.To) {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "the moments of a file are spread again between the opening and the close of the agenda, which has none")
		}
		s.From, s.To = c.shift(s.From), c.shift(s.To)
		items, err := s.Items(randomBelow)
		if err != nil {
			return nil, err
		}
		all = append(all, list{items: items, hides: true, from: s.From, to: s.To})
	}
	return all, nil
}
