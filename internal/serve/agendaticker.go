package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/draw"
	"drawsvc/internal/periodic"
	"drawsvc/internal/stock"
)

const (
	// agendaEvery is how often an instance looks for items that are due in pools
	// which nobody draws from: the longest that those are late.
	agendaEvery = time.Second
	// agendaMax bounds one round: after a downtime it may have much to do.
	agendaMax = time.Minute
)

// agendaStore does what is due of all agendas.
type agendaStore interface {
	RunAllDue(ctx context.Context) error
}

// followAgendas does what is due of all agendas once a second, until stop is called.
func followAgendas(s agendaStore, log *slog.Logger) (stop func()) {
	failing := false
	return periodic.Start(agendaEvery, func(ctx context.Context) {
		round, done := context.WithTimeout(ctx, agendaMax)
		defer done()
		err := s.RunAllDue(round)
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn("the agendas of the pools cannot be followed just now", "error", err)
		}
		failing = err != nil
	})
}

// countDue counts the items of agendas that this instance has done.
func countDue(r prometheus.Registerer) func(kind draw.ItemKind, n int) {
	done := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "drawsvc_due_total", Help: "Items of agendas that were done, by what they planned; failed are those that could not be done.",
	}, []string{"what"})
	for _, kind := range []draw.ItemKind{draw.ItemState, draw.ItemRules, draw.ItemStock, stock.ItemFailed} {
		done.WithLabelValues(string(kind)) // is there from the first scrape on
	}
	return func(kind draw.ItemKind, n int) { done.WithLabelValues(string(kind)).Add(float64(n)) }
}
