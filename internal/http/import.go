package http

import (
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// Importer stocks a pool from a CSV file, whole or not at all.
type Importer interface {
	Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error)
}

const (
	// importMax is the largest file that is imported, in bytes. A larger one is
	// for the command.
	importMax = 8 << 20
	// importReason is the reason of the moves when the caller names none.
	importReason = "import"
)

type importAnswer struct {
	Pool      string `json:"pool"`
	DryRun    bool   `json:"dry_run"`
	Added     int    `json:"added"`
	Restocked int    `json:"restocked"`
	Units     int64  `json:"units"`
	// Version is the pool's after the import; a dry run says what it would be.
	Version  int64 `json:"version"`
	Replayed bool  `json:"replayed"`
	// Prizes are the first that a dry run would change.
	Prizes []importPrizeAnswer `json:"prizes,omitempty"`
}

type importPrizeAnswer struct {
	ID      string `json:"id"`
	New     bool   `json:"new"`
	Delta   *int64 `json:"delta"` // null: endless
	Stocked *int64 `json:"stocked"`
}

// importFile answers POST /admin/pools/{pool}/import. A large file gets more
// time than other calls, to arrive and to be imported.
func (s *Server) importFile(c call) error {
	r := c.gin.Request
	if err := checkContentType(r.Header, "text/csv", "header"); err != nil {
		return err
	}
	wanted, err := c.importWanted()
	if err != nil {
		return err
	}
	leave, err := c.take(s.bounds.imports, 1, "a file is imported already, which is the most at once")
	if err != nil {
		c.leaveBody()
		return err
	}
	defer leave()
	file, err := c.readImport()
	if err != nil {
		return err
	}
	done, err := c.importWhole(wanted, file)
	if err != nil {
		return err
	}
	c.replayed(done.Replayed)
	return c.writeJSON(importAnswer{
		Pool: wanted.PoolID, DryRun: wanted.DryRun, Added: done.Added, Restocked: done.Restocked,
		Units: done.Units, Version: done.Version, Replayed: done.Replayed,
		Prizes: each(done.Preview, func(p *draw.ImportedPrize) importPrizeAnswer {
			return importPrizeAnswer{p.PrizeID, p.IsNew, unlessEndless(p.Delta, p.IsEndless), unlessEndless(p.Stocked, p.IsEndless)}
		}),
	})
}

// importWhole imports a file when no other one is at work: each takes memory for all
// of its lines. Error: CodeOverloaded, and those of Importer.
func (c call) importWhole(w draw.Import, file []byte) (draw.Imported, error) {
	limits, importing := &c.server.limits, c.server.bounds.importing
	turn, cancel := c.within(limits.audit)
	defer cancel()
	if err := importing.Acquire(turn, 1); err != nil {
		return draw.Imported{}, overloaded(err)
	}
	defer importing.Release(1)
	ctx, cancel := c.within(limits.audit)
	defer cancel()
	return c.server.Store.Import(ctx, w, bytes.NewReader(file), nil)
}

// importWanted reads what the call says beside the file.
func (c call) importWanted() (draw.Import, error) {
	key, err := idempotencyKey(c.gin.Request.Header)
	if err != nil {
		return draw.Import{}, err
	}
	dry, err := c.word("dry_run", "false", "true")
	if err != nil {
		return draw.Import{}, err
	}
	w := draw.Import{PoolID: c.param("pool"), Reason: importReason, Actor: c.actor(), Key: key, DryRun: dry == "true"}
	w.PresentOnly = c.caller.Role == access.Stock
	if c.query.Has("reason") {
		w.Reason = c.query.Get("reason")
	}
	return w, w.Check()
}

// readImport reads a file of at most importMax. A large one gets more time than
// other bodies, to arrive and to be imported.
func (c call) readImport() ([]byte, error) {
	limits := &c.server.limits
	_ = nethttp.NewResponseController(c.gin.Writer).SetReadDeadline(time.Now().Add(limits.page))
	c.unhurried(limits.page + 2*limits.audit + limits.page)
	return readBody(c.gin.Request, make([]byte, 0, bufferSize), importMax)
}
