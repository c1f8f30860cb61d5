package http

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Agendas reads the agendas of pools.
type Agendas interface {
	// Agenda returns at most limit items with a number above after, in order; if open is
	// set, it leaves out items that are done.
	Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error)
	// Opening returns when the agenda opens a pool next, and when it pauses or closes
	// it; zero times for never.
	Opening(ctx context.Context, poolID string) (opens, closes time.Time, err error)
	// CheckAgendaFile returns the items that a CSV file would plan, and plans nothing.
	CheckAgendaFile(ctx context.Context, poolID string, file io.Reader) ([]draw.Item, draw.Encoding, error)
}

// AgendaParts reads parts of the agendas of pools.
type AgendaParts interface {
	// AgendaPart returns a page of a part of an agenda, in the order of that part. If the
	// first page leaves out open moves of stock, omitted is their number.
	AgendaPart(ctx context.Context, poolID string, page draw.AgendaPage) (items []draw.Item, omitted int64, err error)
	// AgendaSums returns the units that an agenda releases, by prize and by the spans between
	// times. withoutStock leaves open moves of stock out.
	AgendaSums(ctx context.Context, poolID string, times []time.Time, withoutStock bool) (draw.AgendaSums, error)
}

// Planner changes the agendas of pools.
type Planner interface {
	// PlanItem plans an item, only once under the same key unless it is "".
	PlanItem(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Item, error)
	RemoveItem(ctx context.Context, poolID string, item int64, actor string) error
	// RemovePlanned removes the open items that the change of a version planned together.
	RemovePlanned(ctx context.Context, poolID string, version int64, actor string) (removed int64, err error)
}

// Scheduler plans many items as one change, completely or not at all.
type Scheduler interface {
	// PlanMoment plans a moment as an import of one item.
	PlanMoment(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Planned, error)
	// ImportAgenda plans the items of a CSV file, only once under the same key unless
	// it is "".
	ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error)
	// SpreadAgenda plans the items of a schedule, with the same rule for keys.
	SpreadAgenda(ctx context.Context, poolID string, spread draw.Spread, key, actor string) (draw.Planned, error)
}

// visibleItems returns the items that the caller may see. Only admins see open stock
// items, because the time at which a unit is released is the best time to draw. The
// visible form of hidden items contains no instant.
func (c call) visibleItems(items []draw.Item) []draw.Item {
	if c.caller.Role == access.Admin {
		return items
	}
	return slices.DeleteFunc(items, func(i draw.Item) bool { return i.Kind == draw.ItemStock && i.Done == 0 && i.Hidden == nil })
}

// agenda answers GET /admin/pools/{pool}/agenda.
func (s *Server) agenda(ctx context.Context, c call) (api.Agenda, error) {
	wanted, open, err := c.agendaWanted()
	if err != nil {
		return api.Agenda{}, err
	}
	var omitted int64
	read := func(ctx context.Context, poolID string, after int64, limit int) (items []draw.Item, err error) {
		if wanted.Part == "" {
			return s.Store.Agenda(ctx, poolID, after, limit, open)
		}
		wanted.After, wanted.Limit = after, limit
		items, omitted, err = s.Store.AgendaPart(ctx, poolID, wanted)
		return items, err
	}
	found, end, err := readPage(ctx, c, "pool", read, func(i *draw.Item) int64 { return i.Number })
	all := len(found)
	found = c.visibleItems(found)
	hidden := all - len(found) + int(omitted) // omitted is the number of open moves that AgendaPart has left out
	return api.Agenda{Items: api.ShowEach(found, api.ShowLine), Hidden: hidden, End: end}, err
}

// agendaWanted reads which part of an agenda the call requests, and whether it requests
// only open items.
func (c call) agendaWanted() (wanted draw.AgendaPage, open bool, err error) {
	only, err := c.word("open", "false", "true")
	if err != nil {
		return wanted, false, err
	}
	part, err := c.wordOrNone("part", string(draw.AgendaDue), string(draw.AgendaDone), string(draw.AgendaHidden))
	if err != nil {
		return wanted, false, err
	}
	kind, err := c.wordOrNone("kind", string(draw.ItemState), string(draw.ItemRules), string(draw.ItemStock), string(draw.ItemMoment))
	switch {
	case err != nil:
		return wanted, false, err
	case part != "" && c.query.Has("open"):
		return wanted, false, draw.Errorf(draw.CodeInvalidRequest, "give one of open and part")
	case (part == "" || part == string(draw.AgendaHidden)) && (kind != "" || c.query.Has("prize") || c.query.Has("from") || c.query.Has("to")):
		return wanted, false, draw.Errorf(draw.CodeInvalidRequest, "kind, prize, from and to need part=%s or part=%s", draw.AgendaDue, draw.AgendaDone)
	}
	wanted = draw.AgendaPage{Part: draw.AgendaPart(part), Kind: draw.ItemKind(kind), PrizeID: c.query.Get("prize")}
	for name, to := range map[string]*time.Time{"from": &wanted.From, "to": &wanted.To} {
		if *to, err = c.time(name); err != nil {
			return wanted, false, err
		}
	}
	if c.query.Has("prize") {
		if err := draw.CheckID("prize", wanted.PrizeID); err != nil {
			return wanted, false, err
		}
	}
	wanted.WithoutStock = wanted.Part == draw.AgendaDue && c.caller.Role != access.Admin
	return wanted, only == "true", nil
}

// agendaSums answers GET /admin/pools/{pool}/agenda/sums.
func (s *Server) agendaSums(ctx context.Context, c call) (api.AgendaSums, error) {
	var times []time.Time
	if c.query.Has("at") {
		for text := range strings.SplitSeq(c.query.Get("at"), ",") {
			at, err := draw.ParseTime("at", text)
			switch {
			case err != nil:
				return api.AgendaSums{}, err
			case len(times) > 0 && !at.After(times[len(times)-1]):
				return api.AgendaSums{}, draw.Errorf(draw.CodeInvalidRequest, "the times of at must rise")
			case len(times) == draw.AgendaSpansMax:
				return api.AgendaSums{}, draw.Errorf(draw.CodeInvalidRequest, "at has more than %d times", draw.AgendaSpansMax)
			}
			times = append(times, at)
		}
	}
	sums, err := s.Store.AgendaSums(ctx, c.param("pool"), times, c.caller.Role != access.Admin)
	return api.ShowAgendaSums(&sums), err
}

// planItem answers POST /admin/pools/{pool}/agenda. A winning moment is hidden, so its
// answer is that of an import of one item: that answer does not show the moment.
func (s *Server) planItem(ctx context.Context, c call, body *api.NewItem) (any, error) {
	wanted, err := body.Read()
	if err != nil {
		return nil, err
	}
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return nil, err
	}
	if wanted.Kind == draw.ItemMoment {
		p, err := s.Store.PlanMoment(ctx, c.param("pool"), wanted, key, c.actor())
		if err != nil {
			return nil, err
		}
		return c.planned(&p), nil
	}
	item, err := s.Store.PlanItem(ctx, c.param("pool"), wanted, key, c.actor())
	if err != nil {
		return nil, err
	}
	c.replayed(item.Replayed)
	c.createdItems(item.Number)
	return api.ShowPlannedItem(&item), nil
}

// createdItems sets the status of a call that planned items, and the Location that shows
// them; first is the number of the first item.
func (c call) createdItems(first int64) {
	c.created("/admin/pools/" + c.param("pool") + "/agenda?after=" + strconv.FormatInt(first-1, 10))
}

// removePlanned answers DELETE /admin/pools/{pool}/agenda/imports/{version}.
func (s *Server) removePlanned(c call) error {
	return c.remove("version", c.beginLong, func(ctx context.Context, version int64) error {
		_, err := s.Store.RemovePlanned(ctx, c.param("pool"), version, c.actor())
		return err
	})
}

// removeItem answers DELETE /admin/pools/{pool}/agenda/{item}.
func (s *Server) removeItem(c call) error {
	return c.remove("item", c.begin, func(ctx context.Context, number int64) error {
		return s.Store.RemoveItem(ctx, c.param("pool"), number, c.actor())
	})
}

// remove removes the items that the number in the parameter param of the path selects.
func (c call) remove(param string, begin func() (context.Context, func(), error), remove func(ctx context.Context, number int64) error) error {
	number, err := strconv.ParseInt(c.param(param), 10, 64)
	if err != nil {
		return err
	}
	ctx, done, err := begin()
	if err != nil {
		return err
	}
	defer done()
	if err := remove(ctx, number); err != nil {
		return err
	}
	c.noContent()
	return nil
}

// opening returns when the agenda opens a pool next, and when it pauses or closes it;
// nil for never. Both are nil for a closed pool, even if items are still planned.
func (s *Server) opening(ctx context.Context, p *draw.Pool) (opens, closes *string, err error) {
	if p.DueAt.IsZero() || p.State == draw.StateClosed {
		return nil, nil, nil
	}
	o, c, err := s.Store.Opening(ctx, p.ID)
	return api.ShowTimeOrNull(o), api.ShowTimeOrNull(c), err
}

// importAgenda answers POST /admin/pools/{pool}/agenda/import.
func (s *Server) importAgenda(c call) error {
	r := c.gin.Request
	if err := checkContentType(r.Header, "text/csv", "header"); err != nil {
		return err
	}
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	dry, err := c.word("dry_run", "false", "true")
	if err != nil {
		return err
	}
	file, err := c.readImport()
	if err != nil {
		return err
	}
	ctx, done, err := c.beginLong()
	if err != nil {
		return err
	}
	defer done()
	if dry == "true" {
		items, encoding, err := s.Store.CheckAgendaFile(ctx, c.param("pool"), file)
		if err != nil {
			return err
		}
		return c.writeJSON(api.ShowAgendaFile(items, encoding))
	}
	p, err := s.Store.ImportAgenda(ctx, c.param("pool"), file, key, c.actor())
	if err != nil {
		return err
	}
	return c.scheduled(&p)
}

// scheduled answers with the planned items.
func (c call) scheduled(p *draw.Planned) error { return c.writeJSON(c.planned(p)) }

// planned sets the status and headers of an answer that shows planned items, and returns
// its body.
func (c call) planned(p *draw.Planned) api.Planned {
	c.replayed(p.Replayed)
	c.createdItems(p.First)
	return api.ShowPlanned(p)
}

// spreadAgenda answers POST /admin/pools/{pool}/agenda/spread. It may plan as many
// items as a file.
func (s *Server) spreadAgenda(c call) error {
	var body api.NewSpread
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	wanted, err := body.Read()
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return err
	}
	ctx, done, err := c.beginLong()
	if err != nil {
		return err
	}
	defer done()
	p, err := s.Store.SpreadAgenda(ctx, c.param("pool"), wanted, key, c.actor())
	if err != nil {
		return err
	}
	return c.scheduled(&p)
}
