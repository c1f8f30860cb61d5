package serve

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"drawsvc/internal/stock"
)

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
