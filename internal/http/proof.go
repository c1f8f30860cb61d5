package http

import (
	"context"
	"io"
	nethttp "net/http"

	"drawsvc/internal/api"
)

// Committer commits pools to their numbers, and shows what is published of it.
type Committer interface {
	// CommitPool commits a paused pool and returns the signed note.
	CommitPool(ctx context.Context, wanted Commit) ([]byte, error)
	// Reveal reveals the seed of a closed pool and returns its line.
	Reveal(ctx context.Context, poolID string) ([]byte, error)
	// Published returns a file of a committed pool: commitment, key, checkpoint
	// or reveal. Error: CodeNotFound, also for one that is not there yet.
	Published(ctx context.Context, poolID, file string) ([]byte, error)
}

// LogKeeper keeps the public log of committed pools.
type LogKeeper interface {
	// SkipVersions records the versions of a paused, committed pool up to and with to
	// as giving nothing, and returns how many those are.
	SkipVersions(ctx context.Context, poolID string, to int64, reason, actor string) (skipped int64, err error)
	// KeepCheckpoint stores a checkpoint that the pool's publisher has signed.
	KeepCheckpoint(ctx context.Context, poolID string, note []byte) error
}

// Commit is a wanted commitment of a pool.
type Commit struct {
	PoolID string
	// Origin is the host that the pool's log is to be published under, "" for that
	// of the service; Host is the one that was called.
	Origin, Host        string
	Epochs, EpochLength int64
	// Beacon is none, quicknet, or the words of a commitment.
	Beacon         string
	StockWhileOpen bool
	// Receipts has every draw of the pool answered with a receipt.
	Receipts bool
	Actor    string
}

// LogWriter writes the public log of a committed pool whose seed is revealed.
type LogWriter interface {
	// WriteProofLog writes to w behind a call of begin; before it nothing was
	// written.
	WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error
}

// The usual members of a commitment.
const (
	epochsUsual      = 256
	epochLengthUsual = 1 << 20
)

const typeText = typePlain + "; charset=utf-8"

// commitPool answers POST /admin/pools/{pool}/commitment.
func (s *Server) commitPool(c call) error {
	var body api.NewCommitment
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	wanted := Commit{
		PoolID: c.param("pool"), Origin: body.Origin, Host: c.gin.Request.Host, Epochs: epochsUsual, EpochLength: epochLengthUsual,
		Beacon: body.Beacon, StockWhileOpen: body.StockWhileOpen, Receipts: body.Receipts, Actor: c.actor(),
	}
	if body.Epochs != nil {
		wanted.Epochs = *body.Epochs
	}
	if body.EpochLength != nil {
		wanted.EpochLength = *body.EpochLength
	}
	ctx, done, err := c.beginLong() // it reads what is in the log before
	if err != nil {
		return err
	}
	defer done()
	note, err := s.Store.CommitPool(ctx, wanted)
	if err != nil {
		return err
	}
	c.gin.Writer.Header().Set("Location", "/pools/"+c.param("pool")+"/proof/commitment")
	c.writeText(nethttp.StatusCreated, note)
	return nil
}

// revealPool answers POST /admin/pools/{pool}/reveal.
func (s *Server) revealPool(c call) error {
	ctx, done, err := c.beginLong() // it reads the whole log
	if err != nil {
		return err
	}
	defer done()
	line, err := s.Store.Reveal(ctx, c.param("pool"))
	if err != nil {
		return err
	}
	c.writeText(nethttp.StatusOK, line)
	return nil
}

// published answers GET /pools/{pool}/proof/{file} for one of the short files.
func (s *Server) published(file string) handler {
	return func(c call) error {
		ctx, cancel := c.within(s.RequestTimeout)
		defer cancel()
		content, err := placed(ctx, c, func() ([]byte, error) { return s.Store.Published(ctx, c.param("pool"), file) })
		if err != nil {
			return err
		}
		c.writeText(nethttp.StatusOK, content)
		return nil
	}
}

// writeText answers with plain text.
func (c call) writeText(status int, text []byte) {
	c.gin.Writer.Header().Set("Content-Type", typeText)
	c.write(status, text)
}
