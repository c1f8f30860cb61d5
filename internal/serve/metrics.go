package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// metrics counts draws and their results. It implements group.Observer and
// lockmode.Observer. No label here contains a pool, a prize or a user: such sets of
// labels grow without bound and reveal who plays. poolMetrics shows a bounded number of
// pools.
type metrics struct {
	draws   *prometheus.CounterVec
	batch   prometheus.Histogram
	users   prometheus.Histogram
	wait    prometheus.Histogram
	attempt *prometheus.HistogramVec
	retries *prometheus.CounterVec
	errors  *prometheus.CounterVec
	stale   prometheus.Counter
	settled prometheus.Counter
	held    prometheus.Histogram
}

// NewRegistry returns a registry with the metrics of the runtime and of the process.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func newMetrics(r prometheus.Registerer, store *stock.Store, mode string, v setting.VersionInfo) *metrics {
	f := promauto.With(r)
	seconds := prometheus.ExponentialBuckets(0.0002, 2, 16) // 0.2 ms to 6.5 s
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("drawsvc_database_connections_open", "Open connections for draws.", func() float64 { return float64(store.Connections().Open) })
	gauge("drawsvc_database_connections_in_use", "Connections at work on draws.", func() float64 { return float64(store.Connections().InUse) })
	gauge("drawsvc_database_connections_max", "Most connections for draws.", func() float64 { return float64(store.Connections().Max) })
	f.NewCounterFunc(prometheus.CounterOpts{
		Name: "drawsvc_database_connection_wait_seconds_total", Help: "Time that draws have waited for a free connection, all together.",
	}, func() float64 { return store.Connections().Waited.Seconds() })
	f.NewGauge(prometheus.GaugeOpts{
		Name: "drawsvc_build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "go": v.Go, "zones": v.Zones},
	}).Set(1)
	m := &metrics{
		draws: f.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_draws_total", Help: "Draws by mode and outcome: won, blank, replayed, or the code of the problem.",
		}, []string{"mode", "outcome"}),
		batch: f.NewHistogram(prometheus.HistogramOpts{
			Name: "drawsvc_batch_draws", Help: "Draws decided in one transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		users: f.NewHistogram(prometheus.HistogramOpts{
			Name: "drawsvc_users_looked_up", Help: "Users whose turns were read for one batch, under rules that count.", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		wait: f.NewHistogram(prometheus.HistogramOpts{
			Name: "drawsvc_queue_wait_seconds", Help: "Wait of the first draw of each batch.", Buckets: seconds,
		}),
		attempt: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "drawsvc_transaction_seconds", Help: "Time of one attempt at a batch, from begin to commit.", Buckets: seconds,
		}, []string{"mode"}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_retries_total", Help: "Attempts at a batch that were retried, by mode and reason.",
		}, []string{"mode", "reason"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_database_errors_total", Help: "Attempts at a batch that failed because the database was not available, or failed, by reason.",
		}, []string{"reason"}),
		stale: f.NewCounter(prometheus.CounterOpts{
			Name: "drawsvc_stale_locks_total", Help: "Writes rejected because of a stale fencing token: a later holder of the external lock had written.",
		}),
		settled: f.NewCounter(prometheus.CounterOpts{
			Name: "drawsvc_in_doubt_settled_total", Help: "Draws answered after the response to a commit was lost: the log said what became of them.",
		}),
		held: f.NewHistogram(prometheus.HistogramOpts{
			Name: "drawsvc_lock_held_seconds", Help: "Time for which the external lock of a pool was held.", Buckets: seconds,
		}),
	}
	m.begin(mode)
	return m
}

// begin sets the counters that alerts and dashboards read to 0: if a counter begins at
// 1, Prometheus does not see the first increase.
func (m *metrics) begin(mode string) {
	for _, outcome := range []string{
		group.OutcomeWon, group.OutcomeBlank, group.OutcomeReplayed, string(draw.CodeSoldOut), string(draw.CodeContended), string(draw.CodeInternal),
		string(draw.CodeStoreUnavailable), string(draw.CodeLockUnavailable), string(draw.CodeOutcomeUnknown),
	} {
		m.draws.WithLabelValues(mode, outcome)
	}
	for _, reason := range []string{"version", "commit", "connection", "due", stock.ReasonLockWait} {
		m.retries.WithLabelValues(mode, reason)
	}
	for _, reason := range append(stock.WriteRefusals(), "connection", "connections", "unavailable", "commit", lockmode.ReasonOther) {
		m.errors.WithLabelValues(reason)
	}
	m.attempt.WithLabelValues(mode)
}

// watchQueues exports the number of draws that wait, and by pool if byPool is set.
func watchQueues(r prometheus.Registerer, b *group.Batcher, byPool bool) {
	f := promauto.With(r)
	if byPool {
		r.MustRegister(newQueueMetrics(b.WaitingByPool))
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_queue_draws", Help: "Draws without an answer yet, of all pools.",
	}, func() float64 { n, _ := b.Waiting(); return float64(n) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_queue_oldest_seconds", Help: "How long the oldest of these draws has waited; 0 when there is none.",
	}, func() float64 { _, oldest := b.Waiting(); return oldest.Seconds() })
}

// timedLock measures how long a lock is held.
type timedLock struct {
	lockmode.Locker
	held prometheus.Observer
}

// WithLock implements lockmode.Locker.
func (l timedLock) WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error {
	return l.Locker.WithLock(ctx, key, func(ctx context.Context, token int64) error {
		defer func(begun time.Time) { l.held.Observe(time.Since(begun).Seconds()) }(time.Now())
		return fn(ctx, token)
	})
}

// Gathered implements group.Observer.
func (m *metrics) Gathered(draws, users int, waited time.Duration) {
	m.batch.Observe(float64(draws))
	if users > 0 {
		m.users.Observe(float64(users))
	}
	m.wait.Observe(waited.Seconds())
}

// Answered implements group.Observer.
func (m *metrics) Answered(mode, outcome string, draws int) {
	m.draws.WithLabelValues(mode, outcome).Add(float64(draws))
}

// DoubtSettled implements group.Observer.
func (m *metrics) DoubtSettled(draws int) { m.settled.Add(float64(draws)) }

// Attempted implements lockmode.Observer.
func (m *metrics) Attempted(mode, reason string, took time.Duration) {
	m.attempt.WithLabelValues(mode).Observe(took.Seconds())
	if reason != "" {
		m.retries.WithLabelValues(mode, reason).Inc()
	}
}

// DatabaseFailed implements lockmode.Observer.
func (m *metrics) DatabaseFailed(reason string) { m.errors.WithLabelValues(reason).Inc() }

// StaleToken implements lockmode.Observer.
func (m *metrics) StaleToken() { m.stale.Inc() }

// showClock adds the gauge of the current leap of the clock.
func showClock(r prometheus.Registerer, leap func() time.Duration) {
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_clock_leap_seconds", Help: "By how much the database's clock has leapt while the leap is not accepted, else 0.",
	}, func() float64 { return leap().Seconds() })
}
