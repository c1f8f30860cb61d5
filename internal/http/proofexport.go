package http

import (
	"archive/zip"
	"context"
	"io"
	"time"

	"drawsvc/internal/api"
)

// Exporter has a committed pool's log leave the house.
type Exporter interface {
	// ExportProof writes each of [api.ProofFiles] that is there to what create returns
	// for its name, and signs a checkpoint before where none covers the log. An
	// error before the first call of create has exported nothing.
	ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error
}

// commentOf makes what is written the comment of an archive.
type commentOf struct{ archive *zip.Writer }

// Write implements io.Writer.
func (c commentOf) Write(p []byte) (int, error) {
	return len(p), c.archive.SetComment(api.ZonesComment + string(p))
}

// exportProof answers POST /admin/pools/{pool}/proof. An archive ends with its
// directory, so that one that was cut off does not look like a whole one.
func (s *Server) exportProof(c call) error {
	ctx, cancel := c.wholeLog() // it reads the whole log twice
	defer cancel()
	archive := zip.NewWriter(c.gin.Writer)
	err := s.Store.ExportProof(ctx, c.param("pool"), func(name string) (io.Writer, error) {
		if !c.gin.Writer.Written() {
			c.gin.Writer.Header().Set("Content-Type", typeZip)
			c.gin.Writer.WriteHeaderNow()
		}
		if name == api.ZonesFile {
			return commentOf{archive}, nil
		}
		return archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
