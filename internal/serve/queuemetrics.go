package serve

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// queueMetrics exports the waiting draws of the pools with the longest queues, at most
// watchedPoolsMax pools, and of all other pools together. It implements
// prometheus.Collector.
type queueMetrics struct {
	// waiting returns the number of draws without an answer by pool. unread counts those of
	// pools that may not exist.
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
