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
	// agendaEvery is the interval at which an instance looks for due items in pools
	// without draws: it is the maximum delay of those items.
	agendaEvery = time.Second
	// agendaMax bounds one round. After a downtime, many items may be due.
	agendaMax = time.Minute
)

// agendaStore carries out the due items of all agendas.
type agendaStore interface {
	RunAllDue(ctx context.Context) error
}

// followAgendas carries out the due items of all agendas once a second, until stop is
// called.
func followAgendas(s agendaStore, log *slog.Logger) (stop func()) {
	failing := false
	return periodic.Start(agendaEvery, func(ctx context.Context) {
		round, done := context.WithTimeout(ctx, agendaMax)
		defer done()
		err := s.RunAllDue(round)
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn("the agendas of the pools cannot be carried out at the moment", "error", err)
		}
		failing = err != nil
	})
}

// countDue returns a counter of the items that this instance has carried out.
func countDue(r prometheus.Registerer) func(kind draw.ItemKind, n int) {
	done := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "drawsvc_due_total", Help: "Items of agendas that were done, by what they planned; failed are those that could not be done, lapsed those of a pool closed before.",
	}, []string{"what"})
	for _, kind := range []draw.ItemKind{draw.ItemState, draw.ItemRules, draw.ItemStock, draw.ItemMoment, stock.ItemFailed, stock.ItemLapsed} {
		done.WithLabelValues(string(kind)) // present from the first scrape on
	}
	return func(kind draw.ItemKind, n int) { done.WithLabelValues(string(kind)).Add(float64(n)) }
}
