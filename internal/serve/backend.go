package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// backend adapts the store to the interface that package http needs.
type backend struct {
	*stock.Store
	sealing sealing
}

// sealing holds the settings for committing pools. To holds the recipients to whom seeds
// are sealed, nil for none. Escrow holds further recipients, outside of the service.
// origin is the host under which logs are published, "" for the host of the request.
type sealing struct {
	To, Escrow *proof.Recipients
	origin     string
}

// Draw implements http.Reader.
func (b backend) Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error) {
	return b.DrawWithCodes(ctx, poolID, drawID)
}

// CommitPool implements http.Committer.
func (b backend) CommitPool(ctx context.Context, w http.Commit) ([]byte, error) {
	if b.sealing.To == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the service was started without --seed-recipients, so it cannot seal seeds")
	}
	if origin := b.sealing.origin; origin != "" && w.Origin != "" && w.Origin != origin {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the service publishes its logs under %s, by its --origin, and not under %s", origin, w.Origin)
	}
	host := cmp.Or(b.sealing.origin, w.Origin, w.Host)
	if err := proof.CheckHost(host); err != nil {
		return nil, err
	}
	beacon, err := proof.ParseBeacon(w.Beacon)
	if err != nil {
		return nil, err
	}
	return b.Store.CommitPool(ctx, stock.Committing{
		PoolID: w.PoolID, Host: host, Epochs: w.Epochs, EpochLength: w.EpochLength, Beacon: beacon, StockWhileOpen: w.StockWhileOpen,
		Receipts: w.Receipts, Recipients: b.sealing.To, Escrow: b.sealing.Escrow, Actor: w.Actor,
	})
}

// Commitment implements http.Commitments.
func (b backend) Commitment(ctx context.Context, poolID string) (http.Commitment, error) {
	of, err := b.Store.Commitment(ctx, poolID)
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

// Receipt implements http.Receipts.
func (b backend) Receipt(ctx context.Context, d *draw.Draw) (draw.Receipt, error) {
	if d.Signer != nil {
		return d.SignReceipt()
	}
	receipt, err := b.Store.Receipt(ctx, d)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(receipt)
	return draw.EncodedReceipt(encoded), err
}

// DrawReceipt implements http.Receipts.
func (b backend) DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error) {
	made, included, err := b.Store.DrawReceipt(ctx, poolID, drawID)
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

// EraseUser implements http.Eraser. The key of the pseudonym is not stored.
func (b backend) EraseUser(ctx context.Context, poolID, user, actor string) (int64, error) {
	return b.Store.EraseUser(ctx, poolID, user, stock.Pseudonym([]byte(rand.Text()), poolID, user), actor)
}

// ExportProof implements http.Exporter.
func (b backend) ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error {
	files, err := b.Store.ExportProof(ctx, poolID, &lateWriter{create: func() (io.Writer, error) { return create(api.ProofFiles()[0]) }})
	if err != nil {
		return err
	}
	content := map[string][]byte{
		"commitment": files.Commitment, "key": files.Key, "checkpoints": files.Checkpoints, "checkpoint": files.Checkpoint, "reveal": files.Reveal,
		api.ZonesFile: proof.Zones(),
	}
	for _, name := range api.ProofFiles() {
		if len(content[name]) == 0 { // as for the log, and for parts that are not revealed yet
			continue
		}
		w, err := create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(content[name]); err != nil {
			return err
		}
	}
	return nil
}

// lateWriter creates its writer at the first write.
type lateWriter struct {
	create func() (io.Writer, error)
	to     io.Writer
}

// Write implements io.Writer.
func (l *lateWriter) Write(p []byte) (n int, err error) {
	if l.to == nil {
		if l.to, err = l.create(); err != nil {
			return 0, err
		}
	}
	return l.to.Write(p)
}
