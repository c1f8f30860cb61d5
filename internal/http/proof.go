package http

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Commitments reads the commitments of pools.
type Commitments interface {
	// Commitment returns the commitment of a pool. Errors: CodePoolNotFound,
	// CodeNotFound for a pool with secret numbers.
	Commitment(ctx context.Context, poolID string) (Commitment, error)
}

// Commitment is the commitment of a pool, and its present state.
type Commitment struct {
	// Version is the version of the log's entry about the commitment. Origin names the
	// public log.
	Version int64
	Origin  string
	// Note and Key are published at once, Checkpoint with the first checkpoint, Reveal
	// with the seed. Before that they are empty.
	Note, Key, Checkpoint, Reveal []byte
	Epochs, EpochLength           int64
	// Beacon is none, quicknet, or the beacon's words in the commitment. RoundsURL is
	// where the beacon publishes its rounds, by number; "" if that is not known.
	Beacon, RoundsURL string
	StockWhileOpen    bool
	// Receipts means that every draw of the pool is answered with a receipt.
	Receipts bool
	// Opened is the round that the pool was opened with last, the zero round for none.
	Opened draw.Round
	// SaltsErased means that the secret of the log's tags was destroyed. SeedsAway means
	// that this instance cannot unseal the seed.
	SaltsErased, SeedsAway bool
}

// Committer commits pools to their numbers, and returns their published files.
type Committer interface {
	// CommitPool commits a paused pool and returns the signed note.
	CommitPool(ctx context.Context, wanted Commit) ([]byte, error)
	// Reveal reveals the seed of a closed pool and returns its line.
	Reveal(ctx context.Context, poolID string) ([]byte, error)
	// Published returns a file of a committed pool: commitment, key, checkpoint or
	// reveal. Error: CodeNotFound, also if the file does not exist yet.
	Published(ctx context.Context, poolID, file string) ([]byte, error)
}

// Commit is a request to commit a pool.
type Commit struct {
	PoolID string
	// Origin is the host under which the pool's log will be published, "" for the
	// service's. Host is the host that the caller named.
	Origin, Host        string
	Epochs, EpochLength int64
	// Beacon is none, quicknet, or a beacon in the words of a commitment.
	Beacon         string
	StockWhileOpen bool
	// Receipts means that every draw of the pool will be answered with a receipt.
	Receipts bool
	Actor    string
}

// LogKeeper manages the public log of committed pools.
type LogKeeper interface {
	// SkipVersions records that the versions of a paused, committed pool give nothing, up
	// to and including the version to. It returns their number.
	SkipVersions(ctx context.Context, poolID string, to int64, reason, actor string) (skipped int64, err error)
	// KeepCheckpoint stores a checkpoint that the pool's publisher has signed.
	KeepCheckpoint(ctx context.Context, poolID string, note []byte) error
}

// LogWriter writes the public log of a committed pool whose seed is revealed.
type LogWriter interface {
	// WriteProofLog calls begin before its first write to w.
	WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error
}

// Exporter writes the public log of a committed pool.
type Exporter interface {
	// ExportProof writes each existing file of [api.ProofFiles] to what create returns
	// for its name, and signs a checkpoint first if none covers the log. If it fails
	// before the first call of create, nothing was exported.
	ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error
}

// Receipts signs receipts of committed pools' draws.
type Receipts interface {
	// Receipt returns the receipt of a draw. Errors: CodeInvalidRequest for a pool with
	// secret numbers, CodeNotFound if the secret of the tags was destroyed,
	// CodeSeedUnavailable, CodeRulesUnreadable.
	Receipt(ctx context.Context, d *draw.Draw) (draw.Receipt, error)
	// DrawReceipt returns the receipt of a draw in the log, and the proof that a
	// checkpoint covers the draw, both as JSON. The proof is nil if no checkpoint does.
	// Errors: CodeDrawNotFound, CodeNotFound, CodeSeedUnavailable, CodeRulesUnreadable,
	// CodeOverloaded.
	DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error)
}

// The default members of a commitment.
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
	ctx, done, err := c.beginLong() // it reads the earlier log
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
		content, err := placed(c, func(ctx context.Context) ([]byte, error) { return s.Store.Published(ctx, c.param("pool"), file) })
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

// The levels of a committed pool.
const (
	levelCommitted = "committed"
	levelBeacon    = "beacon"
)

type commitmentAnswer struct {
	Version        int64   `json:"version"`
	Level          string  `json:"level"`
	Origin         string  `json:"origin"`
	Note           string  `json:"note"`
	Key            string  `json:"key"`
	Epochs         int64   `json:"epochs"`
	EpochLength    int64   `json:"epoch_length"`
	Beacon         string  `json:"beacon"`
	RoundsURL      *string `json:"rounds_url"`
	StockWhileOpen bool    `json:"stock_while_open"`
	Receipts       bool    `json:"receipts"`
	// Opened is null before the first opening with a round.
	Opened *roundAnswer `json:"opened"`
	// Checkpoint and Reveal are null until they are published.
	Checkpoint  *string `json:"checkpoint"`
	Reveal      *string `json:"reveal"`
	SaltsErased bool    `json:"salts_erased"`
	Seeds       string  `json:"seeds"`
}

type roundAnswer struct {
	Round     int64  `json:"round"`
	Signature string `json:"signature"`
}

func newCommitment(c *Commitment) commitmentAnswer {
	a := commitmentAnswer{
		Version: c.Version, Level: levelBeacon, Origin: c.Origin, Note: string(c.Note), Key: string(c.Key), Epochs: c.Epochs, EpochLength: c.EpochLength,
		Beacon: c.Beacon, RoundsURL: orNull(c.RoundsURL), StockWhileOpen: c.StockWhileOpen, Receipts: c.Receipts,
		Checkpoint: orNull(string(c.Checkpoint)), Reveal: orNull(string(c.Reveal)), SaltsErased: c.SaltsErased, Seeds: "available",
	}
	if c.Beacon == beaconNone {
		a.Level = levelCommitted
	}
	if c.SeedsAway {
		a.Seeds = "unavailable"
	}
	if c.Opened.Number != 0 {
		a.Opened = &roundAnswer{c.Opened.Number, c.Opened.Signature}
	}
	return a
}

// beaconNone is the beacon of a pool without one.
const beaconNone = "none"

// orNull returns a text, or null if it is empty.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// commitment answers GET /admin/pools/{pool}/commitment.
func (s *Server) commitment(ctx context.Context, c call) (commitmentAnswer, error) {
	found, err := s.Store.Commitment(ctx, c.param("pool"))
	if err != nil {
		return commitmentAnswer{}, err
	}
	return newCommitment(&found), nil
}

// commentOf writes the comment of an archive.
type commentOf struct{ archive *zip.Writer }

// Write implements io.Writer.
func (c commentOf) Write(p []byte) (int, error) {
	return len(p), c.archive.SetComment(api.ZonesComment + string(p))
}

// exportProof answers POST /admin/pools/{pool}/proof. An archive ends with its
// directory, so that a truncated one does not seem complete.
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

// prooflogChunk is how much of a public log is sent at once, in bytes.
const prooflogChunk = 128 << 10

// proofLog answers GET /pools/{pool}/proof/log. The log is not available before the
// reveal, because it would show players how much is left.
func (s *Server) proofLog(c call) error {
	ctx, cancel := c.wholeLog()
	defer cancel()
	_, err := placedIn(ctx, c, func() ([]byte, error) { return s.Store.Published(ctx, c.param("pool"), "reveal") })
	if err != nil {
		return err
	}
	w := &logSender{ctx: ctx, call: c, pace: pace{left: s.limits.page, each: s.limits.pace}}
	if err := w.resume(); err != nil {
		return err
	}
	defer w.pause()
	err = s.Store.WriteProofLog(ctx, c.param("pool"), w, func() {
		c.gin.Writer.Header().Set("Content-Type", typeNDJSON)
		c.gin.Writer.WriteHeaderNow()
	})
	if err != nil {
		return err
	}
	w.pause()
	return w.send()
}

// logSender sends a log to its caller, who must read it at a minimum pace. While it
// sends, it gives back its place among the calls that use the database.
type logSender struct {
	ctx   context.Context //nolint:containedctx // of one call, for the writer that the log is written to
	call  call
	pace  pace
	chunk bytes.Buffer
	// leave gives the place back; it is nil while the sender has no place.
	leave func()
}

// resume takes a place among the calls that use the database. Error: CodeOverloaded.
func (w *logSender) resume() error {
	leave, err := w.call.place(w.ctx)
	if err == nil {
		w.leave = leave
	}
	return err
}

// pause gives the place back, if there is one.
func (w *logSender) pause() {
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// Write implements io.Writer.
func (w *logSender) Write(line []byte) (int, error) {
	n, _ := w.chunk.Write(line) // writes to memory: cannot fail
	if w.chunk.Len() < prooflogChunk {
		return n, nil
	}
	w.pause()
	err := w.send()
	if failed := w.resume(); err == nil {
		err = failed
	}
	return n, err
}

// send sends the written bytes.
func (w *logSender) send() error {
	return w.pace.of(w.call, func() error {
		_, err := w.chunk.WriteTo(w.call.gin.Writer)
		return err
	})
}

// skipVersions answers POST /admin/pools/{pool}/skip.
func (s *Server) skipVersions(c call) error {
	var body api.Skip
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	if body.To == nil {
		return draw.Errorf(draw.CodeInvalidRequest, "to is missing: the last version to skip")
	}
	ctx, done, err := c.beginLong() // skipping a million versions takes a thousand transactions
	if err != nil {
		return err
	}
	defer done()
	skipped, err := s.Store.SkipVersions(ctx, c.param("pool"), *body.To, body.Reason, c.actor())
	if err != nil {
		return err
	}
	return c.writeJSON(api.Skipped{Pool: c.param("pool"), Skipped: skipped})
}

// keepCheckpoint answers PUT /admin/pools/{pool}/proof/checkpoint.
func (s *Server) keepCheckpoint(c call) error {
	if err := checkContentType(c.gin.Request.Header, typePlain); err != nil {
		return err
	}
	note, err := readBody(c.gin.Request, nil, bodyMax)
	if err != nil {
		return err
	}
	kept, err := placed(c, func(ctx context.Context) (api.Kept, error) {
		return api.Kept{Pool: c.param("pool")}, s.Store.KeepCheckpoint(ctx, c.param("pool"), note)
	})
	if err != nil {
		return err
	}
	return c.writeJSON(kept)
}

// writeReceipted answers with a draw and its receipt, which this request's goroutine
// signs after the draw is durable. If this instance cannot make the receipt, the draw
// is answered without it, because a draw that was made is never refused; the request's
// log line states why. A retry gets the receipt from an instance that can make it.
func (c call) writeReceipted(d *draw.Draw, asked bool) error {
	ctx := c.gin.Request.Context()
	if d.Signer == nil { // a Signer signs without reading the database
		within, cancel := c.within(c.server.RequestTimeout)
		defer cancel()
		ctx = within
	}
	receipt, err := c.server.Store.Receipt(ctx, d)
	switch draw.CodeOf(err) {
	case "":
	case draw.CodeInvalidRequest:
		if asked {
			return err
		}
		fallthrough // a restore revoked the commitment
	case draw.CodeNotFound, draw.CodeSeedUnavailable, draw.CodeRulesUnreadable, draw.CodeInternal:
		_ = c.gin.Error(err)
		c.writeDraw(d)
		return nil
	default:
		return &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: "the draw is made, and its receipt could not be read; the same Idempotency-Key gets both"}
	}
	c.replayed(d.Replayed)
	out := c.server.buffer()
	defer c.server.buffers.Put(out)
	*out = appendDraw((*out)[:0], d)
	*out = append((*out)[:len(*out)-len(answerEnd)], `,"receipt":`...)
	*out = append(receipt.AppendTo(*out), answerEnd...)
	c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
	c.writeShort(nethttp.StatusOK, *out)
	return nil
}

// drawReceipt answers GET /pools/{pool}/draws/{draw}/receipt.
func (s *Server) drawReceipt(c call) error {
	body, err := placed(c, func(ctx context.Context) ([]byte, error) {
		receipt, proof, err := s.Store.DrawReceipt(ctx, c.param("pool"), c.param("draw"))
		body := append([]byte(`{"receipt":`), receipt...)
		if proof != nil {
			body = append(append(body, `,"proof":`...), proof...)
		}
		return append(body, answerEnd...), err
	})
	if err != nil {
		return err
	}
	c.gin.Writer.Header()["Content-Type"] = s.headers.json
	c.write(200, body)
	return nil
}
