package api

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// NewCommitment is the body of POST /admin/pools/{pool}/commitment.
type NewCommitment struct {
	Origin         string `json:"origin,omitzero"`
	Beacon         string `json:"beacon,omitzero"`
	Epochs         *int64 `json:"epochs,omitzero"`
	EpochLength    *int64 `json:"epoch_length,omitzero"`
	StockWhileOpen bool   `json:"stock_while_open,omitzero"`
	Receipts       bool   `json:"receipts,omitzero"`
}

// Skip is the body of POST /admin/pools/{pool}/skip.
type Skip struct {
	To     *int64 `json:"to"`
	Reason string `json:"reason,omitzero"`
}

// Skipped is the result of skipping versions: their number.
type Skipped struct {
	Pool    string `json:"pool"`
	Skipped int64  `json:"skipped"`
}

// Kept names the pool whose checkpoint was stored.
type Kept struct {
	Pool string `json:"pool"`
}

const (
	// ZonesFile is one of [ProofFiles]. It names the release of the time zones that the
	// service used.
	ZonesFile = "zones"
	// ZonesComment begins the comment of an archive, which contains the content of
	// ZonesFile. It is not a file, because commands of release 0.1.0 refuse archives with
	// additional files.
	ZonesComment = "time zones: "
)

// ProofFiles returns the names of the files by which outsiders verify a pool. The log is
// the first.
func ProofFiles() []string { return append(archiveNames(), ZonesFile) }

// archiveNames returns the names of the files of an archive.
func archiveNames() []string {
	return []string{"log.jsonl", "commitment", "key", "checkpoints", "checkpoint", "reveal"}
}

// CommitPool commits a paused pool to its numbers, and returns the signed note. The
// service seals the seed to its recipients. Errors: CodeInvalidRequest, CodePoolNotFound,
// CodePoolOpen, CodePoolCommitted.
func (c *Client) CommitPool(ctx context.Context, poolID string, w *NewCommitment) ([]byte, error) {
	body, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	call := newCall(http.MethodPost, poolPath(poolID, "commitment"))
	call.ContentType, call.Body, call.AttemptMax = typeJSON, body, wholeLogMax
	return c.caller.Do(ctx, call)
}

// Reveal reveals the seed of a closed pool, and returns the line that contains it.
// Errors: CodePoolNotFound, CodeNotFound, CodePoolOpen, CodeSeedUnavailable,
// CodeLogForked.
func (c *Client) Reveal(ctx context.Context, poolID string) ([]byte, error) {
	call := newCall(http.MethodPost, poolPath(poolID, "reveal"))
	call.AttemptMax = wholeLogMax
	return c.caller.Do(ctx, call)
}

// CheckSeeds returns an error unless the service can reveal a pool's seed once the pool
// is closed. Errors: CodePoolNotFound, CodeNotFound, CodeSeedUnavailable.
func (c *Client) CheckSeeds(ctx context.Context, poolID string) error {
	p, err := c.Pool(ctx, poolID)
	if err != nil || p.State == draw.StateClosed {
		return err
	}
	if _, err = c.Reveal(ctx, poolID); draw.CodeOf(err) == draw.CodePoolOpen { // only the open pool prevents the reveal
		return nil
	}
	return err
}

// SkipVersions skips versions of a paused, committed pool up to a version, so that no
// draw gets their numbers. It returns the number of skipped versions. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodeNotFound, CodePoolOpen.
func (c *Client) SkipVersions(ctx context.Context, poolID string, to int64, reason string) (int64, error) {
	call := newCall(http.MethodPost, poolPath(poolID, "skip"))
	call.AttemptMax = wholeLogMax
	done, err := send[Skipped](ctx, c, call, &Skip{To: &to, Reason: reason})
	return done.Skipped, err
}

// KeepCheckpoint sends a checkpoint that was signed elsewhere to the service, which
// stores it. Errors: CodeInvalidRequest, CodePoolNotFound, CodeNotFound, CodeLogForked.
func (c *Client) KeepCheckpoint(ctx context.Context, poolID string, note []byte) error {
	call := newCall(http.MethodPut, poolPath(poolID, "proof", "checkpoint"))
	call.ContentType, call.Body = "text/plain", note
	_, err := fetch[Kept](ctx, c, call)
	return err
}

// Limits of an archive. They prevent a wrong or broken service from filling the disk.
const (
	// archiveMax is the maximum length of an archive, in bytes. It is enough for three
	// hundred million awards.
	archiveMax = 16 << 30
	// packedMax is the maximum ratio of the length of the files to that of the archive. The
	// files of a pool are usually four times as long as its archive. The ratio is larger if
	// draws have many units.
	packedMax = 200
	// smallMax is the maximum length of the small files, in bytes.
	smallMax = 1 << 20
)

// ExportProof writes each existing file of [ProofFiles] to the writer that create returns
// for the file's name. It first stores the whole archive in a temporary file. So if it
// fails before the first call of create, it has exported nothing. Errors:
// CodePoolNotFound, CodeNotFound, CodeSeedUnavailable, CodeLogForked.
func (c *Client) ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) (err error) {
	kept, err := os.CreateTemp("", "drawsvc-proof-*.zip")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close(), os.Remove(kept.Name())) }()
	call := newCall(http.MethodPost, poolPath(poolID, "proof"))
	call.Into, call.AttemptMax = &atMost{kept, archiveMax}, wholeLogMax
	if _, err = c.caller.Do(ctx, call); draw.CodeOf(err) == draw.CodeOutcomeUnknown {
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

// unpackAll writes the files of an archive, which must contain all files of a pool.
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
	release := strings.TrimSpace(strings.TrimPrefix(archive.Comment, ZonesComment))
	if !rules.IsZoneRelease(release) { // the service is of release 0.1.0
		return nil
	}
	w, err := create(ZonesFile)
	if err == nil {
		_, err = io.WriteString(w, release+"\n")
	}
	return err
}

// checkArchive returns an error unless an archive contains the files of a pool, each
// once.
func checkArchive(files []*zip.File) error {
	missing := archiveNames()
	for _, f := range files {
		place := slices.Index(missing, f.Name)
		if place < 0 {
			return notOurs(errors.New("it holds a file that is not one of a pool's, or one twice"))
		}
		if f.UncompressedSize64 > 0 {
			missing = slices.Delete(missing, place, place+1)
		}
	}
	for _, name := range missing {
		if name != "reveal" { // a pool that is not revealed has no seed file
			return draw.Errorf(draw.CodeStoreUnavailable, "the archive is incomplete: it has no %s", name)
		}
	}
	return nil
}

// unpackFiles writes files of an archive. Together they may have at most left bytes.
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

// unpack writes a file of an archive and returns its length. The file may have at most
// longest bytes.
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

// atMost writes up to a limited number of bytes.
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
