package http

import (
	"context"
	"io"
	nethttp "net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// Agendas shows the agendas of pools.
type Agendas interface {
	// Agenda returns at most limit items with a number above after, in order;
	// open leaves out those that are done.
	Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error)
	// Opening says when the agenda opens a pool next, and when it pauses or closes
	// it; zero times for never.
	Opening(ctx context.Context, poolID string) (opens, closes time.Time, err error)
}

// Planner changes the agendas of pools.
type Planner interface {
	// PlanItem plans an item; under a key, unless it is "", once.
	PlanItem(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Item, error)
	RemoveItem(ctx context.Context, poolID string, item int64, actor string) error
}

type itemAnswer struct {
	Item  int64      `json:"item"`
	At    string     `json:"at"`
	State draw.State `json:"state,omitzero"`
	Prize string     `json:"prize,omitzero"`
	Delta int64      `json:"delta,omitzero"`
	// Reason is that of a stock item.
	Reason string `json:"reason,omitzero"`
	// Rules are null for an item that removes the rules.
	Rules jsontext.Value `json:"rules,omitzero"`
	Actor string         `json:"actor"`
	// Done is the version of the entry that the item became, null while it is
	// open.
	Done *int64 `json:"done"`
}

func newItem(i *draw.Item) itemAnswer {
	a := itemAnswer{Item: i.Number, At: formatTime(i.At), Actor: i.Actor}
	switch i.Kind {
	case draw.ItemState:
		a.State = i.State
	case draw.ItemStock:
		a.Prize, a.Delta, a.Reason = i.Stock.PrizeID, i.Stock.Delta, i.Stock.Reason
	case draw.ItemRules:
		if a.Rules = jsontext.Value("null"); i.Rules != nil {
			a.Rules = jsontext.Value(i.Rules.Document())
		}
	}
	if i.Done != 0 {
		a.Done = &i.Done
	}
	return a
}

// plannedItemAnswer is what is said of an item that was planned.
type plannedItemAnswer struct {
	itemAnswer
	Replayed bool `json:"replayed"`
}

// WriteItem writes an item that was planned as a line of JSON, as POST …/agenda
// answers it. Errors are those of w.
func WriteItem(w io.Writer, i *draw.Item) error {
	return writeLine(w, plannedItemAnswer{newItem(i), i.Replayed})
}

// WriteItems writes all items of an agenda, as GET …/agenda shows its last page.
// Errors are those of w.
func WriteItems(w io.Writer, items []draw.Item) error {
	return writeLine(w, agendaAnswer{Items: each(items, newItem)})
}

type agendaAnswer struct {
	Items []itemAnswer `json:"items"`
	// Hidden is how many open stock items of the page the caller may not see.
	Hidden int `json:"hidden,omitzero"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

// visibleItems returns the items that the caller may see. Open stock items are for
// admins only: whoever knows when a unit is released knows when to draw.
func (c call) visibleItems(items []draw.Item) []draw.Item {
	if c.caller.Role == access.Admin {
		return items
	}
	return slices.DeleteFunc(items, func(i draw.Item) bool { return i.Kind == draw.ItemStock && i.Done == 0 })
}

// agenda answers GET /admin/pools/{pool}/agenda.
func (s *Server) agenda(ctx context.Context, c call) (agendaAnswer, error) {
	open, err := c.word("open", "false", "true")
	if err != nil {
		return agendaAnswer{}, err
	}
	read := func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Item, error) {
		return s.Store.Agenda(ctx, poolID, after, limit, open == "true")
	}
	found, next, err := readPage(ctx, c, "pool", read, func(i *draw.Item) int64 { return i.Number })
	all := len(found)
	found = c.visibleItems(found)
	return agendaAnswer{Items: each(found, newItem), Hidden: all - len(found), Next: next}, err
}

// itemBody is the body of POST …/agenda: at, and one of state, rules, or prize
// with delta and reason.
type itemBody struct {
	At     *string        `json:"at,omitzero"`
	State  *draw.State    `json:"state,omitzero"`
	Prize  *string        `json:"prize,omitzero"`
	Delta  *int64         `json:"delta,omitzero"`
	Reason *string        `json:"reason,omitzero"`
	Rules  jsontext.Value `json:"rules,omitzero"`
}

func (b *itemBody) item() (draw.Item, error) {
	var i draw.Item
	if b.At == nil {
		return i, draw.Errorf(draw.CodeInvalidRequest, "at is missing")
	}
	at, err := draw.ParseTime("at", *b.At)
	if err != nil {
		return i, err
	}
	i.At = at
	isStock := b.Prize != nil || b.Delta != nil || b.Reason != nil
	switch {
	case b.State != nil && len(b.Rules) == 0 && !isStock:
		i.Kind, i.State = draw.ItemState, *b.State
	case b.State == nil && len(b.Rules) > 0 && !isStock:
		i.Kind = draw.ItemRules
		if b.Rules.Kind() != 'n' {
			i.Rules, err = draw.ParseRules(b.Rules)
		}
	case b.State == nil && len(b.Rules) == 0 && b.Prize != nil && b.Delta != nil && b.Reason != nil:
		i.Kind, i.Stock = draw.ItemStock, draw.Stocking{PrizeID: *b.Prize, Delta: *b.Delta, Reason: *b.Reason}
	default:
		return i, draw.Errorf(draw.CodeInvalidRequest, "an item has at, and one of state, rules, or prize with delta and reason")
	}
	if err != nil {
		return i, err
	}
	return i, i.Check()
}

// planItem answers POST /admin/pools/{pool}/agenda.
func (s *Server) planItem(ctx context.Context, c call, body *itemBody) (plannedItemAnswer, error) {
	wanted, err := body.item()
	if err != nil {
		return plannedItemAnswer{}, err
	}
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return plannedItemAnswer{}, err
	}
	item, err := s.Store.PlanItem(ctx, c.param("pool"), wanted, key, c.actor())
	if err != nil {
		return plannedItemAnswer{}, err
	}
	c.replayed(item.Replayed)
	c.created("/admin/pools/" + c.param("pool") + "/agenda?after=" + strconv.FormatInt(item.Number-1, 10))
	return plannedItemAnswer{newItem(&item), item.Replayed}, nil
}

// removeItem answers DELETE /admin/pools/{pool}/agenda/{item}.
func (s *Server) removeItem(c call) error {
	number, err := strconv.ParseInt(c.param("item"), 10, 64)
	if err != nil {
		return err
	}
	ctx, done, err := c.begin()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Store.RemoveItem(ctx, c.param("pool"), number, c.actor()); err != nil {
		return err
	}
	c.gin.Writer.WriteHeader(nethttp.StatusNoContent)
	c.gin.Writer.WriteHeaderNow()
	return nil
}

// opening is when the agenda opens a pool next, and when it shuts it; nil for
// never, and both for a closed pool, whatever is still planned.
func (s *Server) opening(ctx context.Context, p *draw.Pool) (opens, closes *string, err error) {
	if p.DueAt.IsZero() || p.State == draw.StateClosed {
		return nil, nil, nil
	}
	o, c, err := s.Store.Opening(ctx, p.ID)
	return timeOrNull(o), timeOrNull(c), err
}

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := formatTime(t)
	return &text
}
