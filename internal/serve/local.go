package serve

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/proof"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock"
	"drawsvc/internal/ticket"
)

// LocalOptions are the options of a command's calls on the database.
type LocalOptions struct {
	// Actor is recorded with each change.
	Actor string
	// Identities unseal the seeds of committed pools, nil for none.
	Identities *proof.Identities
	// SealKeys seal and open codes, nil for none.
	SealKeys *seal.Keeper
	Sealing  sealing
	// SignsClosed means that a checkpoint is signed when a committed pool is closed.
	SignsClosed bool
	// Progress, if not nil, is called with the progress of an import.
	Progress func(done, total int)
}

// localMax bounds a call within this process: it may take as long as its work.
const localMax = 365 * 24 * time.Hour

// NewLocal returns a client that calls the handlers of a service on an open database, in
// this process. The calls have the rights of an admin, and no limits of time and size.
// Commands use pools of a database only through this client. Only commands about the
// database itself use the store: migrate, doctor, backup, restore, audit --deep,
// erase-salts, which reads a folder of this machine, and publish, which follows the
// rows.
func NewLocal(store *stock.Store, o LocalOptions) (api.Local, error) {
	token := rand.Text()
	set, err := access.NewSet(access.Token{Name: "cli", Role: access.Admin, Digest: access.DigestOf(token)})
	if err != nil {
		return api.Local{}, err
	}
	registry := prometheus.NewRegistry()
	server, err := http.New(http.Config{
		Access: gate.Access{Tokens: access.NewKeeper(set), Actor: o.Actor}, Limits: http.Limits{RequestTimeout: localMax, Unbounded: true},
		Store: localBackend{backend{store, o.Sealing}, o.SignsClosed}, Drawer: idle{}, Watcher: idle{}, Tickets: ticket.NewKeeper(nil), WakeJobs: func() {},
		Catalogue: func() map[string]catalogue.Item { return nil }, Modes: lockmode.Names(), Progress: o.Progress,
		Ready: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry,
	})
	if err != nil {
		return api.Local{}, err
	}
	return api.Local{Handler: server.Handler(), Token: token}, nil
}

// localBackend is the backend of a command.
type localBackend struct {
	backend
	signsClosed bool
}

// ChangePool implements http.Pools. No publisher may run while a command uses the
// database, so the command signs the final checkpoint of a closed pool.
func (b localBackend) ChangePool(ctx context.Context, poolID string, change draw.PoolChange, actor string) (draw.Pool, error) {
	p, err := b.backend.ChangePool(ctx, poolID, change, actor)
	if err != nil || !b.signsClosed || p.State != draw.StateClosed {
		return p, err
	}
	if err := b.Checkpoint(ctx, poolID); draw.CodeOf(err) != draw.CodeNotFound {
		return p, err
	}
	return p, nil
}

// idle draws nothing and shows nothing. Commands never call it.
type idle struct{}

// DrawFor implements http.Drawer.
func (idle) DrawFor(context.Context, string, draw.Request) (draw.Draw, error) {
	return draw.Draw{}, draw.Errorf(draw.CodeDraining, "a command does not draw")
}

// Drain implements http.Drawer.
func (idle) Drain(context.Context) error { return nil }

// Watch implements http.Watcher.
func (idle) Watch(context.Context, func([]byte) error) error { return nil }
