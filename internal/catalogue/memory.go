package catalogue

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Loader reads the catalogue from the database.
type Loader interface {
	// Catalogue is as in [Saver].
	Catalogue(ctx context.Context, digest string) (*Stored, error)
}

// WatchDefault is the interval at which an instance asks the database for a new
// catalogue.
const WatchDefault = 4 * time.Second

// Memory is one instance's copy of the catalogue. It is safe for concurrent use.
type Memory struct {
	store Loader
	log   *slog.Logger
	held  atomic.Pointer[held]
}

type held struct {
	digest    string
	items     map[string]Item
	checkedAt time.Time
}

// NewMemory returns an empty copy. [Memory.Load] fills it.
func NewMemory(store Loader, log *slog.Logger) *Memory {
	m := &Memory{store: store, log: log}
	m.held.Store(&held{})
	return m
}

// Items returns the catalogue's items by the prizes' ids. The map is read-only and
// always one whole catalogue, even if a new catalogue arrives. It is read from memory.
func (m *Memory) Items() map[string]Item { return m.held.Load().items }

// CheckedAt returns when the source last confirmed the copy; zero if there is none.
func (m *Memory) CheckedAt() time.Time { return m.held.Load().checkedAt }

// Load copies the catalogue from the database if it has changed. After an error the
// copy remains.
func (m *Memory) Load(ctx context.Context) error {
	before := m.held.Load()
	stored, err := m.store.Catalogue(ctx, before.digest)
	if err != nil || stored == nil {
		return err
	}
	next := &held{stored.Digest, before.items, stored.CheckedAt}
	if stored.Digest != before.digest {
		if next.items, err = stored.items(); err != nil {
			return err
		}
	}
	m.held.Store(next)
	return nil
}

// Watch calls Load at intervals until ctx ends. Of several errors in a row, only the
// first is logged.
func (m *Memory) Watch(ctx context.Context, interval time.Duration) {
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval - rand.N(interval/4)):
		}
		err := m.Load(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			m.log.Warn("the catalogue could not be loaded; the copy in memory is kept", "error", err)
		}
		failed = err != nil
	}
}
