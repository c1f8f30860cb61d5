package http

import (
	"context"

	"drawsvc/internal/draw"
)

// Commitments says what pools are committed to.
type Commitments interface {
	// Commitment is that of a pool. Errors: CodePoolNotFound, CodeNotFound for a
	// pool whose numbers are secret.
	Commitment(ctx context.Context, poolID string) (Commitment, error)
}

// Commitment is what a pool is committed to, and how far its life has come.
type Commitment struct {
	// Version is that of the commitment's entry. Origin names the public log.
	Version int64
	Origin  string
	// Note and Key are published at once, Checkpoint with the first one, Reveal
	// with the seed; until then they are empty.
	Note, Key, Checkpoint, Reveal []byte
	Epochs, EpochLength           int64
	// Beacon is none, quicknet, or the words of the commitment. RoundsURL is where
	// its rounds are published, under their numbers; "" where that is not known.
	Beacon, RoundsURL string
	StockWhileOpen    bool
	// Receipts says that every draw of the pool is answered with a receipt.
	Receipts bool
	// Opened is the round that the pool was opened with last, the zero round for
	// none.
	Opened draw.Round
	// SaltsErased says that the secret of the log's tags was destroyed, SeedsAway
	// that this instance cannot unseal the seed.
	SaltsErased, SeedsAway bool
}

// The levels of a pool that is committed to its numbers.
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

// orNull is a text, or null where it is empty.
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
