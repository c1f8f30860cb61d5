package serve

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

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
