package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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

// begin creates, with value 0, the counters that alerts and dashboards read: if a
// counter begins at 1, Prometheus does not see the first increase.
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

// watchQueues exports the number of waiting draws. If byPool is set, it also exports
// this number for each pool.
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

// queueMetrics exports the waiting draws of the pools with the longest queues, at most
// watchedPoolsMax pools, and of all other pools together. It implements
// prometheus.Collector.
type queueMetrics struct {
	// waiting returns, for each pool, the number of draws without an answer. unread
	// counts the draws of pools that may not exist.
	waiting func() (byPool map[string]int, unread int)
	desc    *prometheus.Desc
}

func newQueueMetrics(waiting func() (byPool map[string]int, unread int)) queueMetrics {
	return queueMetrics{waiting, prometheus.NewDesc("drawsvc_pool_queue_draws", "Draws without an answer yet, by pool, of pools that have some.", []string{"pool"}, nil)}
}

// Describe implements prometheus.Collector.
func (m queueMetrics) Describe(to chan<- *prometheus.Desc) { to <- m.desc }

// Collect implements prometheus.Collector. A pool has a series only while its draws wait.
// The series of all other pools together always exists.
func (m queueMetrics) Collect(to chan<- prometheus.Metric) {
	waiting, rest := m.waiting()
	pools := make([]string, 0, len(waiting))
	rest += waiting[otherPools]
	for id := range waiting {
		if id != otherPools {
			pools = append(pools, id)
		}
	}
	slices.SortFunc(pools, func(a, b string) int { return cmp.Or(cmp.Compare(waiting[b], waiting[a]), cmp.Compare(a, b)) })
	for i, id := range pools {
		if i >= watchedPoolsMax {
			rest += waiting[id]
			continue
		}
		to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(waiting[id]), id)
	}
	to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(rest), otherPools)
}

// watchCodes exports the watched numbers of codes, and reads them about every
// watchEvery until stop is called. If a read fails, the last numbers stay.
func watchCodes(to prometheus.Registerer, store *stock.Store) (stop func()) {
	var last atomic.Pointer[stock.Reserves]
	last.Store(&stock.Reserves{})
	gauge := func(name, help string, value func() float64) {
		promauto.With(to).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("drawsvc_codes_reserve", "Codes without a unit, of all open pools.", func() float64 { return float64(last.Load().Codes) })
	gauge("drawsvc_codes_low", "Prizes of open pools whose reserve of codes is smaller than their rules warn of.",
		func() float64 { return float64(last.Load().Low) })
	gauge("drawsvc_codes_unavailable", "1 while some pool has codes that do not open on this instance, else 0.", func() float64 {
		if store.HasCodesAway() {
			return 1
		}
		return 0
	})
	return startReading(func(ctx context.Context) {
		if r, err := store.ReadReserves(ctx); err == nil {
			last.Store(&r)
		}
	})
}

// ServeMetrics serves /metrics and /livez on an address, until end is called.
func ServeMetrics(ctx context.Context, address string, registry *prometheus.Registry, log *slog.Logger) (end func(), err error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, setting.AsUsage(fmt.Errorf("--metrics-listen must be HOST:PORT: %w", err))
	}
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }) // a probe that is cut off is repeated
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	log.Info("listening for metrics", "metrics_address", l.Addr().String())
	return func() {
		_ = server.Close() // a scrape that is cut off is repeated
		<-ended
	}, nil
}

// stepMetrics counts the steps of awards that this instance wrote.
type stepMetrics struct{ steps *prometheus.CounterVec }

func newStepMetrics(to prometheus.Registerer) stepMetrics {
	m := stepMetrics{promauto.With(to).NewCounterVec(prometheus.CounterOpts{
		Name: "drawsvc_steps_total", Help: "Steps of awards that this instance has written, by what they did.",
	}, []string{"what"})}
	for _, what := range draw.StepKinds() {
		m.steps.WithLabelValues(string(what))
	}
	return m
}

// Stepped counts steps of a kind.
func (m stepMetrics) Stepped(what draw.StepKind, n int) {
	m.steps.WithLabelValues(string(what)).Add(float64(n))
}

// watchClaims exports the number of awards that are claimed and not fulfilled, and reads
// it about every watchEvery until stop is called. If a read fails, the last numbers stay.
func watchClaims(to prometheus.Registerer, store *stock.Store) (stop func()) {
	var last atomic.Pointer[draw.ClaimedOpen]
	last.Store(&draw.ClaimedOpen{})
	gauge := func(name, help string, value func() float64) {
		promauto.With(to).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("drawsvc_awards_claimed_open", "Awards that are claimed and not fulfilled, of all pools.", func() float64 { return float64(last.Load().Awards) })
	gauge("drawsvc_awards_claimed_open_oldest_seconds", "How long the oldest of these awards has been claimed; 0 without any.",
		func() float64 { return last.Load().Oldest.Seconds() })
	return startReading(func(ctx context.Context) {
		if c, err := store.ClaimedOpen(ctx); err == nil {
			last.Store(&c)
		}
	})
}
