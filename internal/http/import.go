package http

import (
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Importer stocks a pool from a CSV file, whole or not at all.
type Importer interface {
	Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error)
}

// importReason is the reason of the moves when the caller names none.
const importReason = "import"

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
	return c.writeJSON(api.ShowImported(&wanted, &done))
}

// importWhole imports a file when no other one is at work: each takes memory for all
// of its lines. Error: CodeOverloaded, and those of Importer.
func (c call) importWhole(w draw.Import, file io.Reader) (draw.Imported, error) {
	limits, importing := &c.server.limits, c.server.bounds.importing
	turn, cancel := c.within(limits.audit)
	defer cancel()
	if err := importing.Acquire(turn, 1); err != nil {
		return draw.Imported{}, overloaded(err)
	}
	defer importing.Release(1)
	ctx, cancel := c.within(limits.audit)
	defer cancel()
	return c.server.Store.Import(ctx, w, file, c.server.Progress)
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

// readImport reads a file of at most api.FileMax, an unbounded one as it is used. A large one gets more time than
// other bodies, to arrive and to be imported.
func (c call) readImport() (io.Reader, error) {
	if c.server.Unbounded {
		return c.gin.Request.Body, nil
	}
	limits := &c.server.limits
	_ = nethttp.NewResponseController(c.gin.Writer).SetReadDeadline(time.Now().Add(limits.page))
	c.unhurried(limits.page + 2*limits.audit + limits.page)
	file, err := readBody(c.gin.Request, make([]byte, 0, bufferSize), api.FileMax)
	return bytes.NewReader(file), err
}
