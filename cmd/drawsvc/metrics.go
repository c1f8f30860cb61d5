package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/stock"
)

// metrics counts what the draws do. It implements group.Observer and
// lockmode.Observer. No label carries a pool, a prize or a user: such sets of
// labels grow without bound and tell who plays.
type metrics struct {
	draws   *prometheus.CounterVec
	batch   prometheus.Histogram
	wait    prometheus.Histogram
	attempt *prometheus.HistogramVec
	retries *prometheus.CounterVec
	stale   prometheus.Counter
}

func newMetrics(r prometheus.Registerer, store *stock.Store) *metrics {
	f := promauto.With(r)
	seconds := prometheus.ExponentialBuckets(0.0002, 2, 16) // 0.2 ms to 6.5 s
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("drawsvc_database_connections_open", "Open connections for draws.", func() float64 { n, _, _ := store.Connections(); return float64(n) })
	gauge("drawsvc_database_connections_in_use", "Connections at work on draws.", func() float64 { _, n, _ := store.Connections(); return float64(n) })
	gauge("drawsvc_database_connections_max", "Most connections for draws.", func() float64 { _, _, n := store.Connections(); return float64(n) })
	return &metrics{
		draws: f.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_draws_total", Help: "Draws by mode and outcome: won, replayed, or the code of the problem.",
		}, []string{"mode", "outcome"}),
		batch: f.NewHistogram(prometheus.HistogramOpts{
			Name: "drawsvc_batch_draws", Help: "Draws decided in one transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
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
		stale: f.NewCounter(prometheus.CounterOpts{
			Name: "drawsvc_stale_locks_total", Help: "Writes rejected because of a stale fencing token: a later holder of the external lock had written.",
		}),
	}
}

// Gathered implements group.Observer.
func (m *metrics) Gathered(draws int, waited time.Duration) {
	m.batch.Observe(float64(draws))
	m.wait.Observe(waited.Seconds())
}

// Answered implements group.Observer.
func (m *metrics) Answered(mode, outcome string, draws int) {
	m.draws.WithLabelValues(mode, outcome).Add(float64(draws))
}

// Attempted implements lockmode.Observer.
func (m *metrics) Attempted(mode, reason string, took time.Duration) {
	m.attempt.WithLabelValues(mode).Observe(took.Seconds())
	if reason != "" {
		m.retries.WithLabelValues(mode, reason).Inc()
	}
}

// StaleToken implements lockmode.Observer.
func (m *metrics) StaleToken() { m.stale.Inc() }
