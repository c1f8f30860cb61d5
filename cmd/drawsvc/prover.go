package main

import (
	"cmp"
	"context"
	"io"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// prover makes and publishes what pools are committed to, by the flags of serve.
type prover struct {
	*stock.Store
	config *config
}

// CommitPool implements http.Prover.
func (p prover) CommitPool(ctx context.Context, w http.Commit) ([]byte, error) {
	if p.config.sealTo == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the service was started without --seed-recipients, so it cannot seal seeds")
	}
	beacon, err := proof.ParseBeacon(w.Beacon)
	if err != nil {
		return nil, err
	}
	return p.Store.CommitPool(ctx, stock.Committing{
		PoolID: w.PoolID, Host: cmp.Or(p.config.origin, w.Host), Epochs: w.Epochs, EpochLength: w.EpochLength,
		Beacon: beacon, StockWhileOpen: w.StockWhileOpen, Recipients: p.config.sealTo, Actor: w.Actor,
	})
}

// WriteProofLog implements http.LogWriter.
func (p prover) WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error {
	return p.Store.WriteProofLog(ctx, poolID, w, func(stock.Published) { begin() })
}
