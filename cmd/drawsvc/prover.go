package main

import (
	"cmp"
	"context"
	"io"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// prover makes and publishes what pools are committed to, by the flags of serve.
type prover struct {
	*stock.Store
	config *config
}

// CommitPool implements http.Prover.
func (p prover) CommitPool(ctx context.Context, poolID, host string, epochs, epochLength int64, actor string) ([]byte, error) {
	if p.config.sealTo == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the service was started without --seed-recipients, so it cannot seal seeds")
	}
	return p.Store.CommitPool(ctx, stock.Committing{
		PoolID: poolID, Host: cmp.Or(p.config.origin, host), Epochs: epochs, EpochLength: epochLength, Recipients: p.config.sealTo, Actor: actor,
	})
}

// WriteProofLog implements http.LogWriter.
func (p prover) WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error {
	return p.Store.WriteProofLog(ctx, poolID, w, func(stock.Published) { begin() })
}
