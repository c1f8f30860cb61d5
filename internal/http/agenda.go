package http

import (
	"context"
	nethttp "net/http"
	"slices"
	"strconv"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// visibleItems returns the items that the caller may see. Open stock items are for
// admins only: whoever knows when a unit is released knows when to draw.
func (c call) visibleItems(items []draw.Item) []draw.Item {
	if c.caller.Role == access.Admin {
		return items
	}
	return slices.DeleteFunc(items, func(i draw.Item) bool { return i.Kind == draw.ItemStock && i.Done == 0 })
}

// agenda answers GET /admin/pools/{pool}/agenda.
func (s *Server) agenda(ctx context.Context, c call) (api.Agenda, error) {
	open, err := c.word("open", "false", "true")
	if err != nil {
		return api.Agenda{}, err
	}
	read := func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Item, error) {
		return s.Store.Agenda(ctx, poolID, after, limit, open == "true")
	}
	found, next, err := readPage(ctx, c, "pool", read, func(i *draw.Item) int64 { return i.Number })
	all := len(found)
	found = c.visibleItems(found)
	return api.Agenda{Items: api.ShowEach(found, api.ShowItem), Hidden: all - len(found), Next: next}, err
}

// planItem answers POST /admin/pools/{pool}/agenda.
func (s *Server) planItem(ctx context.Context, c call, body *api.NewItem) (api.PlannedItem, error) {
	wanted, err := body.Read()
	if err != nil {
		return api.PlannedItem{}, err
	}
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return api.PlannedItem{}, err
	}
	item, err := s.Store.PlanItem(ctx, c.param("pool"), wanted, key, c.actor())
	if err != nil {
		return api.PlannedItem{}, err
	}
	c.replayed(item.Replayed)
	c.created("/admin/pools/" + c.param("pool") + "/agenda?after=" + strconv.FormatInt(item.Number-1, 10))
	return api.ShowPlannedItem(&item), nil
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
	file, err := c.readImport()
	if err != nil {
		return err
	}
	ctx, done, err := c.beginLong()
	if err != nil {
		return err
	}
	defer done()
	p, err := s.Store.ImportAgenda(ctx, c.param("pool"), file, key, c.actor())
	if err != nil {
		return err
	}
	return c.scheduled(&p)
}

// scheduled answers with what was planned.
func (c call) scheduled(p *draw.Planned) error {
	c.replayed(p.Replayed)
	c.created("/admin/pools/" + c.param("pool") + "/agenda?after=" + strconv.FormatInt(p.First-1, 10))
	return c.writeJSON(api.ShowPlanned(p))
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
