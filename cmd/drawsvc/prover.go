package main

import (
	"cmp"
	"context"
	"io"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// prover is the store of a service: it makes and publishes what pools are committed to, by the flags of serve.
type prover struct {
	*stock.Store
	config *config
}

// CommitPool implements http.Committer.
func (p prover) CommitPool(ctx context.Context, w http.Commit) ([]byte, error) {
	if p.config.sealTo == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the service was started without --seed-recipients, so it cannot seal seeds")
	}
	if c := p.config.origin; c != "" && w.Origin != "" && w.Origin != c {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the service publishes its logs under %s, by its --origin, and not under %s", c, w.Origin)
	}
	host := cmp.Or(p.config.origin, w.Origin, w.Host)
	if err := proof.CheckHost(host); err != nil {
		return nil, err
	}
	beacon, err := proof.ParseBeacon(w.Beacon)
	if err != nil {
		return nil, err
	}
	return p.Store.CommitPool(ctx, stock.Committing{
		PoolID: w.PoolID, Host: host, Epochs: w.Epochs, EpochLength: w.EpochLength,
		Beacon: beacon, StockWhileOpen: w.StockWhileOpen, Receipts: w.Receipts, Recipients: p.config.sealTo, Actor: w.Actor,
	})
}

// Commitment implements http.Commitments.
func (p prover) Commitment(ctx context.Context, poolID string) (http.Commitment, error) {
	of, err := p.Store.Commitment(ctx, poolID)
	if err != nil {
		return http.Commitment{}, err
	}
	c := http.Commitment{
		Version: of.Version, Origin: of.Origin, Note: of.Published.Commitment, Key: of.Key, Checkpoint: of.Checkpoint, Reveal: of.Reveal,
		Epochs: of.Epochs, EpochLength: of.EpochLength, Beacon: of.Beacon.String(), StockWhileOpen: of.StockWhileOpen, Receipts: of.Receipts,
		Opened: of.Opened, SaltsErased: of.SaltsErased, SeedsAway: of.SeedsAway,
	}
	if of.Beacon != nil && *of.Beacon == *proof.Quicknet() {
		c.Beacon, c.RoundsURL = "quicknet", proof.QuicknetURL+"/public/"
	}
	return c, nil
}

// ExportProof implements http.Exporter.
func (p prover) ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error {
	return onDatabase{p.Store}.ExportProof(ctx, poolID, create)
}

// EraseUser implements http.Eraser.
func (p prover) EraseUser(ctx context.Context, poolID, user, actor string) (int64, error) {
	return onDatabase{p.Store}.EraseUser(ctx, poolID, user, actor)
}

// Receipt implements http.Receipts.
func (p prover) Receipt(ctx context.Context, d *draw.Draw) ([]byte, error) {
	if d.Signer != nil {
		return d.Signer.Sign(d.Awards, d.Rules)
	}
	receipt, err := p.Store.Receipt(ctx, d)
	if err != nil {
		return nil, err
	}
	return json.Marshal(receipt)
}

// DrawReceipt implements http.Receipts.
func (p prover) DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error) {
	made, included, err := p.Store.DrawReceipt(ctx, poolID, drawID)
	if err != nil {
		return nil, nil, err
	}
	if included != nil {
		if proof, err = json.Marshal(included); err != nil {
			return nil, nil, err
		}
	}
	receipt, err = json.Marshal(made)
	return receipt, proof, err
}
