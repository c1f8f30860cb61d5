package serve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/draw"
	"drawsvc/internal/publish"
	"drawsvc/internal/stock"
)

// PublicPools implements publish.Database.
type PublicPools struct {
	Store  *stock.Store
	PoolID string
	Known  map[string]*stock.Publishing
	// HandTo, if not nil, stores a checkpoint that the store cannot write itself.
	HandTo func(ctx context.Context, poolID string, note []byte) error
}

// Heads implements publish.Database.
func (p *PublicPools) Heads(ctx context.Context) (heads []publish.Head, err error) {
	found, err := p.Store.PublicHeads(ctx, p.PoolID)
	for _, h := range found {
		heads = append(heads, publish.Head(h))
	}
	if err == nil { // secrets that were destroyed in the database are dropped here too
		maps.DeleteFunc(p.Known, func(id string, _ *stock.Publishing) bool {
			return !slices.ContainsFunc(found, func(h stock.PublicHead) bool { return h.PoolID == id })
		})
	}
	return heads, err
}

// Pool implements publish.Database.
func (p *PublicPools) Pool(ctx context.Context, id string) (*publish.Pool, error) {
	of := p.Known[id]
	if of == nil {
		var err error
		if of, err = p.Store.Publishing(ctx, id); err != nil {
			return nil, err
		}
		p.Known[id] = of
	}
	note, key := of.Commitment()
	return &publish.Pool{Origin: of.Origin(), Commitment: note, Key: key, Sign: of.Sign, Source: publicRows{of.On(p.Store.Store), id, p.HandTo}}, nil
}

// publicRows implements publish.Source.
type publicRows struct {
	*stock.Publishing
	poolID string
	handTo func(ctx context.Context, poolID string, note []byte) error
}

// Keep implements publish.Source.
func (p publicRows) Keep(ctx context.Context, size int64, note []byte) error {
	err := p.Publishing.Keep(ctx, size, note)
	if err == nil && p.handTo != nil {
		err = p.handTo(ctx, p.poolID, note)
	}
	if errors.Is(err, stock.ErrForked) || draw.CodeOf(err) == draw.CodeLogForked {
		return publish.ErrForked
	}
	return err
}

// unsigned finds how long entries of the logs of committed pools have had no signed
// checkpoint.
type unsigned struct {
	// pools are the pools that have such entries, by id.
	pools map[string]awaited
}

// awaited describes the entries of a pool that have no checkpoint yet: the last version,
// and since when they have waited.
type awaited struct {
	version int64
	since   time.Time
}

// lag returns how long the oldest unsigned entry has waited for a checkpoint. heads are
// the heads that were read at the time now. lag returns 0 if no publisher follows any of
// the pools.
func (u *unsigned) lag(heads []stock.SignedHead, now time.Time) (oldest time.Duration) {
	before, isFollowed := u.pools, false
	u.pools = map[string]awaited{}
	for i := range heads {
		h := &heads[i]
		isFollowed = isFollowed || h.Signed > h.Committed
		if h.Signed >= h.Version {
			continue
		}
		w, known := before[h.PoolID]
		switch {
		case !known:
			w = awaited{h.Version, h.At} // the time of the last entry, because the times of earlier entries are not known
		case h.Signed >= w.version:
			w = awaited{h.Version, now}
		}
		u.pools[h.PoolID] = w
		oldest = max(oldest, now.Sub(w.since))
	}
	if !isFollowed {
		return 0
	}
	return oldest
}

// watchPublishing exports the lag of the publisher, and reads it about every watchEvery
// until stop is called. If a read fails, the last number stays.
func watchPublishing(to prometheus.Registerer, store *stock.Store) (stop func()) {
	var last atomic.Int64
	promauto.With(to).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_publish_lag_seconds",
		Help: "How long the oldest entry of the published logs of committed pools has had no signed checkpoint in the database; 0 if no publisher writes there.",
	}, func() float64 { return time.Duration(last.Load()).Seconds() })
	var u unsigned
	return startReading(func(ctx context.Context) {
		if heads, err := store.SignedHeads(ctx); err == nil {
			last.Store(int64(u.lag(heads, store.Now())))
		}
	})
}
