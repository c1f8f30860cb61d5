package http

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"os"
	"slices"

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

// ExportProof implements Exporter. The archive is kept in a temporary file until it
// is whole.
func (a *Admin) ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) (err error) {
	kept, err := os.CreateTemp("", "drawsvc-proof-*.zip")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close(), os.Remove(kept.Name())) }()
	_, err = a.client.Do(ctx, client.Call{Method: nethttp.MethodPost, Path: poolPath(poolID, "proof"), Into: kept, AttemptMax: logMax})
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
	archive, err := zip.NewReader(kept, size)
	if err != nil {
		return notOurs(err)
	}
	for _, f := range archive.File {
		if err := unpack(f, create); err != nil {
			return err
		}
	}
	return nil
}

// unpack writes a file of an archive. A name that no pool has is none of a service.
func unpack(f *zip.File, create func(name string) (io.Writer, error)) error {
	if !slices.Contains(ProofFiles(), f.Name) {
		return notOurs(errors.New("it holds a file that is none of a pool's"))
	}
	w, err := create(f.Name)
	if err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return notOurs(err)
	}
	_, err = io.Copy(w, r) //nolint:gosec // who has the admin token is trusted with as much
	return errors.Join(err, r.Close())
}
