package serve

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/stock"
)

// standbyMetrics exports the last reading of the standbys. It implements
// prometheus.Collector, so that both counts are from one reading.
type standbyMetrics struct {
	last      atomic.Pointer[stock.Standbys]
	connected *prometheus.Desc
	required  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (m *standbyMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.connected
	to <- m.required
}

// Collect implements prometheus.Collector.
func (m *standbyMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.last.Load()
	to <- prometheus.MustNewConstMetric(m.connected, prometheus.GaugeValue, float64(s.Connected))
	to <- prometheus.MustNewConstMetric(m.required, prometheus.GaugeValue, float64(s.Required))
}

// watchStandbys exports the standbys of the database, and reads them about every
// watchEvery until stop is called. If a read fails, the last numbers stay.
func watchStandbys(to prometheus.Registerer, store *stock.Store) (stop func()) {
	m := &standbyMetrics{
		connected: prometheus.NewDesc("drawsvc_database_standbys", "Standbys, replicas or other nodes that are connected to the database's primary.", nil, nil),
		required:  prometheus.NewDesc("drawsvc_database_standbys_required", "How many of them must confirm a commit, by the settings of the database.", nil, nil),
	}
	m.last.Store(&stock.Standbys{})
	to.MustRegister(m)
	return startReading(func(ctx context.Context) {
		if s, err := store.ReadStandbys(ctx); err == nil {
			m.last.Store(&s)
		}
	})
}
