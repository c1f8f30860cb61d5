package http

import (
	"context"
	"io"
	"math"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/problem"
)

// Codes manages the codes of prizes. None of its answers contains a code.
type Codes interface {
	// ImportCodes imports the codes of a file, only once under the same key unless it
	// is "".
	ImportCodes(ctx context.Context, w draw.CodeImport, file io.Reader, progress func(done, total int)) (draw.ImportedCodes, error)
	CodeCounts(ctx context.Context, poolID, prizeID string) (draw.CodeCounts, error)
	// DropCodes removes the last codes of the reserve.
	DropCodes(ctx context.Context, poolID, prizeID string, count int64, actor string) (draw.CodeCounts, error)
}

// importCodes answers POST /admin/pools/{pool}/prizes/{prize}/codes.
func (s *Server) importCodes(c call) error {
	r := c.gin.Request
	if checkContentType(r.Header, typePlain) != nil {
		if err := checkContentType(r.Header, typeCSV, "header"); err != nil {
			return draw.Errorf(problem.CodeUnsupportedMediaType, "Content-Type must be text/plain or text/csv, in UTF-8")
		}
	}
	wanted, err := c.codesWanted()
	if err != nil {
		return err
	}
	var done draw.ImportedCodes
	err = c.importing(func(ctx context.Context, file io.Reader) (err error) {
		done, err = s.Store.ImportCodes(ctx, wanted, file, s.Progress)
		return err
	})
	if err != nil {
		return err
	}
	c.replayed(done.Replayed)
	if !wanted.DryRun {
		c.created("/admin/pools/" + wanted.PoolID + "/prizes/" + wanted.PrizeID + "/codes")
	}
	return c.writeJSON(api.ShowImportedCodes(&wanted, &done))
}

// codesWanted reads the parameters of the import besides the file.
func (c call) codesWanted() (w draw.CodeImport, err error) {
	w = draw.CodeImport{PoolID: c.param("pool"), PrizeID: c.param("prize"), Actor: c.actor()}
	if w.Key, err = idempotencyKey(c.gin.Request.Header); err != nil {
		return w, err
	}
	for name, to := range map[string]*bool{"reserve": &w.Reserve, "skip": &w.Skip, "dry_run": &w.DryRun} {
		word, err := c.word(name, "false", "true")
		if err != nil {
			return w, err
		}
		*to = word == "true"
	}
	return w, w.Check()
}

// codeCounts answers GET /admin/pools/{pool}/prizes/{prize}/codes.
func (s *Server) codeCounts(ctx context.Context, c call) (api.CodeCounts, error) {
	counts, err := s.Store.CodeCounts(ctx, c.param("pool"), c.param("prize"))
	return api.ShowCodeCounts(c.param("pool"), c.param("prize"), &counts), err
}

// dropCodes answers DELETE /admin/pools/{pool}/prizes/{prize}/codes.
func (s *Server) dropCodes(c call) error {
	if !c.query.Has("count") {
		return draw.Errorf(draw.CodeInvalidRequest, "count is missing: how many codes leave the reserve")
	}
	count, err := c.number("count", 1, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	ctx, done, err := c.beginLong() // it may remove many rows
	if err != nil {
		return err
	}
	defer done()
	counts, err := s.Store.DropCodes(ctx, c.param("pool"), c.param("prize"), count, c.actor())
	if err != nil {
		return err
	}
	return c.writeJSON(api.ShowCodeCounts(c.param("pool"), c.param("prize"), &counts))
}
