package http

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"time"

	"drawsvc/internal/draw"
)

// Scheduler plans many stock items as one change, whole or not at all.
type Scheduler interface {
	// ImportAgenda plans those of a CSV file; under a key, unless it is "", once.
	ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error)
	// SpreadAgenda plans those of a schedule, likewise.
	SpreadAgenda(ctx context.Context, poolID string, spread draw.Spread, key, actor string) (draw.Planned, error)
}

// plannedAnswer is what is said of items that were planned together.
type plannedAnswer struct {
	Item     int64  `json:"item"`
	Count    int    `json:"count"`
	Version  int64  `json:"version"`
	SHA256   string `json:"sha256"`
	Salt     string `json:"salt"`
	Replayed bool   `json:"replayed"`
}

func newPlanned(p *draw.Planned) plannedAnswer {
	return plannedAnswer{p.First, p.Count, p.Version, p.Seal.SHA256, p.Seal.Salt, p.Replayed}
}

// WritePlanned writes what was planned as a line of JSON, as POST …/agenda/import
// answers it. Errors are those of w.
func WritePlanned(w io.Writer, p *draw.Planned) error { return writeLine(w, newPlanned(p)) }

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
	p, err := s.Store.ImportAgenda(ctx, c.param("pool"), bytes.NewReader(file), key, c.actor())
	if err != nil {
		return err
	}
	return c.scheduled(&p)
}

// scheduled answers with what was planned.
func (c call) scheduled(p *draw.Planned) error {
	c.replayed(p.Replayed)
	c.created("/admin/pools/" + c.param("pool") + "/agenda?after=" + strconv.FormatInt(p.First-1, 10))
	return c.writeJSON(newPlanned(p))
}

// spreadBody is the body of POST …/agenda/spread: every is left out where the
// instants are random.
type spreadBody struct {
	Prize  string  `json:"prize"`
	Units  int64   `json:"units"`
	From   string  `json:"from"`
	To     string  `json:"to"`
	Every  *string `json:"every,omitzero"`
	Random bool    `json:"random,omitzero"`
	Reason *string `json:"reason,omitzero"`
}

// spreadReason is the reason of the moves when the caller names none.
const spreadReason = "agenda"

func (b *spreadBody) spread() (s draw.Spread, err error) {
	s = draw.Spread{PrizeID: b.Prize, Units: b.Units, Reason: spreadReason}
	if b.Reason != nil {
		s.Reason = *b.Reason
	}
	if b.Random == (b.Every != nil) {
		return s, draw.Errorf(draw.CodeInvalidRequest, "give one of every and random")
	}
	if b.Every != nil {
		if s.Every, err = time.ParseDuration(*b.Every); err != nil || s.Every <= 0 {
			return s, draw.Errorf(draw.CodeInvalidRequest, "every must be a time such as 1h")
		}
	}
	if s.From, err = draw.ParseTime("from", b.From); err != nil {
		return s, err
	}
	s.To, err = draw.ParseTime("to", b.To)
	return s, err
}

// spreadAgenda answers POST /admin/pools/{pool}/agenda/spread. It may plan as many
// items as a file.
func (s *Server) spreadAgenda(c call) error {
	var body spreadBody
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	wanted, err := body.spread()
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
