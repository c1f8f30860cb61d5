package http

import (
	"context"
	"io"
	"strconv"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Scheduler plans many stock items as one change, whole or not at all.
type Scheduler interface {
	// ImportAgenda plans those of a CSV file; under a key, unless it is "", once.
	ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error)
	// SpreadAgenda plans those of a schedule, likewise.
	SpreadAgenda(ctx context.Context, poolID string, spread draw.Spread, key, actor string) (draw.Planned, error)
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
