package http

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

var _ Exporter = (*Admin)(nil)

// logMax bounds a request that has the service read a whole log: longer than the
// service's own limit.
const logMax = auditMax

// CommitPool commits a paused pool to its numbers, sealed to the recipients of the
// service, and returns the signed note. Its Host counts for nothing.
func (a *Admin) CommitPool(ctx context.Context, w Commit) ([]byte, error) {
	body, err := json.Marshal(&commitBody{
		Origin: w.Origin, Beacon: w.Beacon, Epochs: &w.Epochs, EpochLength: &w.EpochLength, StockWhileOpen: w.StockWhileOpen, Receipts: w.Receipts,
	})
	if err != nil {
		return nil, err
	}
	return a.text(ctx, client.Call{Method: nethttp.MethodPost, Path: poolPath(w.PoolID, "commitment"), ContentType: "application/json", Body: body})
}

// Reveal reveals the seed of a closed pool and returns its line. Errors:
// CodePoolNotFound, CodeNotFound, CodePoolOpen, CodeSeedUnavailable, CodeLogForked.
func (a *Admin) Reveal(ctx context.Context, poolID string) ([]byte, error) {
	return a.text(ctx, client.Call{Method: nethttp.MethodPost, Path: poolPath(poolID, "reveal")})
}

// CheckSeeds says whether the service can reveal a pool's seed once the pool is
// closed. Errors: CodePoolNotFound, CodeNotFound, CodeSeedUnavailable.
func (a *Admin) CheckSeeds(ctx context.Context, poolID string) error {
	p, err := a.Pool(ctx, poolID)
	if err != nil || p.State == draw.StateClosed {
		return err
	}
	if _, err = a.Reveal(ctx, poolID); draw.CodeOf(err) == draw.CodePoolOpen { // nothing else is in the way
		return nil
	}
	return err
}

// text makes a call whose answer is plain text.
func (a *Admin) text(ctx context.Context, c client.Call) ([]byte, error) {
	c.AttemptMax = logMax
	text, err := a.client.Do(ctx, c)
	return text, foreign(err)
}

// What an archive may hold, so that a service that is another, or broken, does not
// fill the disk.
const (
	// archiveMax is the longest archive, in bytes: three hundred million awards.
	archiveMax = 16 << 30
	// packedMax is how many times as long as the archive its files may be. Those of a
	// pool are four times as long, and more where draws are of many units.
	packedMax = 200
	// smallMax is the longest of the small files, in bytes.
	smallMax = 1 << 20
)

// ExportProof implements Exporter. The archive is kept in a temporary file until it
// is whole.
func (a *Admin) ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) (err error) {
	kept, err := os.CreateTemp("", "drawsvc-proof-*.zip")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close(), os.Remove(kept.Name())) }()
	_, err = a.client.Do(ctx, client.Call{
		Method: nethttp.MethodPost, Path: poolPath(poolID, "proof"), Into: &atMost{kept, archiveMax}, AttemptMax: logMax,
	})
	if err = foreign(err); draw.CodeOf(err) == draw.CodeOutcomeUnknown {
		return draw.Wrap(draw.CodeStoreUnavailable, errors.Unwrap(err), "the files did not come to their end; a log that takes longer than a minute is exported on the database")
	}
	if err != nil {
		return err
	}
	size, err := kept.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return unpackAll(kept, size, create)
}

// unpackAll writes the files of an archive, which must be all of a pool's.
func unpackAll(from io.ReaderAt, size int64, create func(name string) (io.Writer, error)) error {
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return notOurs(err)
	}
	if err := checkArchive(archive.File); err != nil {
		return err
	}
	if err := unpackFiles(archive.File, packedMax*size+smallMax, create); err != nil {
		return err
	}
	release := strings.TrimSpace(strings.TrimPrefix(archive.Comment, zonesComment))
	if !draw.IsZoneRelease(release) { // the service is of 0.1.0
		return nil
	}
	w, err := create(ZonesFile)
	if err == nil {
		_, err = io.WriteString(w, release+"\n")
	}
	return err
}

// checkArchive reports whether an archive has the files of a pool, each once.
func checkArchive(files []*zip.File) error {
	missing := archiveNames()
	for _, f := range files {
		place := slices.Index(missing, f.Name)
		if place < 0 {
			return notOurs(errors.New("it holds a file that is none of a pool's, or one twice"))
		}
		if f.UncompressedSize64 > 0 {
			missing = slices.Delete(missing, place, place+1)
		}
	}
	for _, name := range missing {
		if name != "reveal" { // a pool that is not revealed has none
			return draw.Errorf(draw.CodeStoreUnavailable, "the archive is incomplete: it has no %s", name)
		}
	}
	return nil
}

// unpackFiles writes files of an archive, which have no more than left bytes together.
func unpackFiles(files []*zip.File, left int64, create func(name string) (io.Writer, error)) error {
	for _, f := range files {
		longest := left
		if f.Name != "log.jsonl" && f.Name != "checkpoints" {
			longest = smallMax
		}
		n, err := unpack(f, longest, create)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// unpack writes a file of an archive and returns its length, which is not above the
// longest.
func unpack(f *zip.File, longest int64, create func(name string) (io.Writer, error)) (int64, error) {
	w, err := create(f.Name)
	if err != nil {
		return 0, err
	}
	r, err := f.Open()
	if err != nil {
		return 0, notOurs(err)
	}
	n, err := io.Copy(&atMost{w, longest}, r)
	return n, errors.Join(err, r.Close())
}

// atMost writes some bytes, and no more.
type atMost struct {
	to   io.Writer
	left int64
}

// Write implements io.Writer.
func (a *atMost) Write(p []byte) (int, error) {
	if int64(len(p)) > a.left {
		return 0, notOurs(errors.New("it is longer than the files of a pool are"))
	}
	n, err := a.to.Write(p)
	a.left -= int64(n)
	return n, err
}
