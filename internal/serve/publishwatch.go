package serve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/stock"
)

// unsigned finds how long entries of the logs of committed pools have had no signed
// checkpoint.
type unsigned struct {
	// pools are the pools that have such entries, by id.
	pools map[string]awaited
}

// awaited describes the entries of a pool that have no checkpoint yet: those up to a
// version, and since when they have waited.
type awaited struct {
	version int64
	since   time.Time
}

// lag returns how long the oldest unsigned entry has waited for a checkpoint. heads are
// the heads that were read at the time now. It is 0 if no publisher follows any of the
// pools.
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
			w = awaited{h.Version, h.At} // the time of the last entry, since those of earlier ones are not known
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
