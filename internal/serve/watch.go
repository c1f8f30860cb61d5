package serve

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/draw"
	"drawsvc/internal/periodic"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
)

const (
	// watchEvery is the interval at which the pools are read, independent of the number
	// of scrapes.
	watchEvery = 15 * time.Second
	// watchMax bounds one reading.
	watchMax = 10 * time.Second
	// watchedPoolsMax is the maximum number of pools with metrics of their own.
	watchedPoolsMax = 100
	// otherPools is the label of all other pools together.
	otherPools = "other"
)

// poolReader has the reads of the metrics of pools.
type poolReader interface {
	levelReader
	rulesReader
	Schema(ctx context.Context) (stock.Schema, error)
}

// levelReader has the reads of the metrics of stock and budgets.
type levelReader interface {
	Levels(ctx context.Context) ([]draw.Level, error)
	Budgets(ctx context.Context) ([]stock.PoolBudget, error)
}

// rulesReader has the reads of the metrics of rules.
type rulesReader interface {
	ReadWatched(ctx context.Context) (stock.Watched, error)
	PoolsAhead(ctx context.Context, by time.Duration) ([]string, error)
}

// reading is the state of the database at one time.
type reading struct {
	current, want int64 // versions of the schema, 0 if they were never read
	levels        []draw.Level
	budgets       []stock.PoolBudget
	at            time.Time // time of the reading of levels; zero before the first one
	low           map[lowPrize]bool
	unreadable    map[unreadablePart]bool
	ahead         int
	overdue       time.Duration
}

// unreadablePart identifies rules in force, or a planned item.
type unreadablePart struct {
	poolID        string
	version, item int64
}

// lowPrize identifies a prize with few units left.
type lowPrize struct{ poolID, prizeID string }

// poolMetrics exports the last reading. It implements prometheus.Collector, so that all
// counts of one scrape are from one reading.
type poolMetrics struct {
	last      atomic.Pointer[reading]
	schema    *prometheus.Desc
	known     *prometheus.Desc
	at        *prometheus.Desc
	remaining *prometheus.Desc
	stocked   *prometheus.Desc
	issued    *prometheus.Desc
	budget    *prometheus.Desc
	low       *prometheus.Desc
	unread    *prometheus.Desc
	ahead     *prometheus.Desc
	overdue   *prometheus.Desc
	log       *slog.Logger
}

func newPoolMetrics(log *slog.Logger) *poolMetrics {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	m := &poolMetrics{
		schema:    of("drawsvc_schema_version", "Version of the database's schema."),
		known:     of("drawsvc_schema_known_version", "Version of the schema that this binary knows."),
		at:        of("drawsvc_pools_read_timestamp_seconds", "Time at which the counts of the pools were read."),
		remaining: of("drawsvc_pool_remaining", "Units that can still be drawn, of each open pool.", "pool"),
		stocked:   of("drawsvc_pool_stocked", "Units put in, of each open pool.", "pool"),
		issued:    of("drawsvc_pool_issued", "Units drawn, of each open pool.", "pool"),
		budget:    of("drawsvc_pool_budget_left", "What is left of the budget, of the first open pools with one.", "pool"),
		low:       of("drawsvc_prizes_low", "Prizes of open pools of which fewer units remain than their rules warn of."),
		unread:    of("drawsvc_rules_unreadable", "Rules in force and planned items that this instance cannot read: their pools give no new draws here, or will not."),
		ahead:     of("drawsvc_pools_ahead", "Pools that are not closed and whose last entry is ahead of the database's clock by more than a minute, at most 100."),
		overdue:   of("drawsvc_agenda_overdue_seconds", "How long the first item of all agendas has been due and not done, except moments; 0 if none is due."),
		log:       log,
	}
	m.last.Store(&reading{})
	return m
}

// Describe implements prometheus.Collector.
func (m *poolMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.schema, m.known, m.at, m.remaining, m.stocked, m.issued, m.budget, m.low, m.unread, m.ahead, m.overdue} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *poolMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	r := m.last.Load()
	if r.want > 0 {
		gauge(m.schema, float64(r.current))
		gauge(m.known, float64(r.want))
	}
	if r.at.IsZero() {
		return
	}
	gauge(m.at, float64(r.at.UnixMicro())/1e6)
	gauge(m.low, float64(len(r.low)))
	gauge(m.unread, float64(len(r.unreadable)))
	gauge(m.ahead, float64(r.ahead))
	gauge(m.overdue, r.overdue.Seconds())
	m.collectBudgets(r, gauge)
	for _, l := range boundLevels(r.levels, watchedPoolsMax) {
		gauge(m.remaining, float64(l.Remaining()), l.PoolID)
		gauge(m.stocked, float64(l.Stocked), l.PoolID)
		gauge(m.issued, float64(l.Issued), l.PoolID)
	}
}

// collectBudgets exports how much is left of the budgets of pools that have their own
// metrics.
func (m *poolMetrics) collectBudgets(r *reading, gauge func(*prometheus.Desc, float64, ...string)) {
	own := map[string]bool{}
	for _, l := range boundLevels(r.levels, watchedPoolsMax) {
		own[l.PoolID] = l.PoolID != otherPools
	}
	for i := range r.budgets {
		if b := &r.budgets[i]; own[b.PoolID] {
			gauge(m.budget, draw.Amount(b.Left).InexactFloat64(), b.PoolID)
		}
	}
}

// boundLevels keeps the first pools and adds up the others as one.
func boundLevels(levels []draw.Level, most int) []draw.Level {
	kept := make([]draw.Level, 0, most+1)
	rest := draw.Level{PoolID: otherPools}
	hasRest := false
	for _, l := range levels {
		if len(kept) < most && l.PoolID != otherPools {
			kept = append(kept, l)
			continue
		}
		rest.Stocked += l.Stocked
		rest.Issued += l.Issued
		hasRest = true
	}
	if hasRest {
		kept = append(kept, rest)
	}
	return kept
}

// read makes the next reading. Numbers that cannot be read stay unchanged.
func (m *poolMetrics) read(ctx context.Context, db poolReader) {
	next := *m.last.Load()
	if schema, err := db.Schema(ctx); err == nil {
		next.current, next.want = schema.Current, schema.Target
	}
	if levels, err := db.Levels(ctx); err == nil {
		next.levels, next.at = levels, time.Now()
	}
	if budgets, err := db.Budgets(ctx); err == nil {
		next.budgets = budgets
	}
	if watched, err := db.ReadWatched(ctx); err == nil {
		next.low = m.warn(next.low, watched.Low)
		next.unreadable = m.warnUnreadable(next.unreadable, watched.Unreadable)
		next.overdue = watched.Overdue
	}
	if ahead, err := db.PoolsAhead(ctx, checkup.AheadMin); err == nil {
		next.ahead = len(ahead)
	}
	m.last.Store(&next)
}

// warnUnreadable does the same as warn for data that this instance cannot read.
func (m *poolMetrics) warnUnreadable(before map[unreadablePart]bool, parts []stock.UnreadablePart) map[unreadablePart]bool {
	now := make(map[unreadablePart]bool, len(parts))
	for _, p := range parts {
		at := unreadablePart{p.PoolID, p.Version, p.Item}
		if now[at] = true; !before[at] {
			m.log.Warn("rules cannot be read here: the pool gives no new draws, or will not once the item is due",
				"pool", p.PoolID, "version", p.Version, "item", p.Item, "error", p.Why)
		}
	}
	return now
}

// warn logs each prize that has become low since the previous reading, and returns all
// that are low. A prize that was restocked and becomes low again is logged again.
func (m *poolMetrics) warn(before map[lowPrize]bool, low []draw.LowPrize) map[lowPrize]bool {
	now := make(map[lowPrize]bool, len(low))
	for _, l := range low {
		at := lowPrize{l.PoolID, l.PrizeID}
		if now[at] = true; !before[at] {
			m.log.Warn("prize is low", "pool", l.PoolID, "prize", l.PrizeID, "remaining", l.Remaining, "below", l.Below)
		}
	}
	return now
}

// watchPools reads the pools about every watchEvery until stop is called.
func watchPools(r prometheus.Registerer, db poolReader, log *slog.Logger) (stop func()) {
	m := newPoolMetrics(log)
	r.MustRegister(m)
	return startReading(func(ctx context.Context) { m.read(ctx, db) })
}

// startReading calls read about every watchEvery, with a context of at most watchMax, until
// stop is called.
func startReading(read func(context.Context)) (stop func()) {
	return periodic.Start(watchEvery, func(ctx context.Context) {
		bounded, end := context.WithTimeout(ctx, watchMax)
		defer end()
		read(bounded)
	})
}
