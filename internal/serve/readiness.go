package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/locker"
	"drawsvc/internal/periodic"
	"drawsvc/internal/stock"
)

// readiness checks everything that a draw needs, and keeps the last result: each change
// is one log line.
type readiness struct {
	store *stock.Store
	// lock is nil for a lock in the database, which needs no check of its own: it
	// answers whenever the database does. But its connections may all be in use.
	lock locker.Lock
	log  *slog.Logger

	mu sync.Mutex
	// lostAt is when a check first failed, the zero time while checks succeed.
	lostAt time.Time
	cause  error
}

const (
	// readyEvery is how often an instance checks itself, independent of other checks.
	readyEvery = time.Second
	// readyMax bounds one such check.
	readyMax = 2 * time.Second
)

func newReadiness(store *stock.Store, lock locker.Lock, url string, log *slog.Logger) *readiness {
	r := &readiness{store: store, log: log}
	if isLockService(url) {
		r.lock = lock
	}
	return r
}

// check returns why the instance cannot draw, nil if it can. A check that its caller
// cancelled does not change the kept result.
func (r *readiness) check(ctx context.Context) error {
	err := r.ask(ctx)
	if ctx.Err() == nil || err == nil || context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // Cause returns it as it is
		r.note(err)
	}
	return err
}

func (r *readiness) ask(ctx context.Context) error {
	if err := r.store.CheckSchema(ctx); err != nil {
		return err
	}
	//double:reads-only err != nil => err != nil && false
	if err := r.store.CheckWritable(); err != nil {
		return err
	}
	if r.lock == nil {
		return nil
	}
	return r.lock.Ping(ctx)
}

// note logs a change.
func (r *readiness) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch wasReady := r.lostAt.IsZero(); {
	case err != nil && wasReady:
		r.lostAt, r.cause = time.Now(), err
		r.log.Warn("not ready", "error", err)
	case err == nil && !wasReady:
		r.log.Info("ready again", "seconds", time.Since(r.lostAt).Seconds(), "error", r.cause)
		r.lostAt, r.cause = time.Time{}, nil
	}
}

// isReady reports whether the last check succeeded.
func (r *readiness) isReady() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lostAt.IsZero()
}

// show registers the results as metrics.
func (r *readiness) show(to prometheus.Registerer) {
	f := promauto.With(to)
	isOne := func(holds bool) float64 {
		if holds {
			return 1
		}
		return 0
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_ready", Help: "1 when database, schema and lock service answered the last check and the database takes writes, else 0.",
		//double:always-ready isOne(r.isReady()) => isOne(r.isReady() || true)
	}, func() float64 { return isOne(r.isReady()) })
	for _, reason := range stock.WriteRefusals() {
		f.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "drawsvc_database_writes_refused", Help: "1 while the database takes no writes, for the reason that the label says.",
			ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { return isOne(r.store.WriteRefusal() == reason) })
	}
}

// watch checks about every readyEvery until stop is called.
func (r *readiness) watch() (stop func()) {
	return periodic.Start(readyEvery, func(ctx context.Context) {
		bounded, done := context.WithTimeout(ctx, readyMax)
		defer done()
		_ = r.check(bounded) // the result is kept
	})
}
