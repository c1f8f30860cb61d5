package http

import (
	"errors"
	"log/slog"
	nethttp "net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are labelled by route, method and status alone: their number is
// bounded by this package, whatever callers send.
type metrics struct {
	requests  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	refused   *prometheus.CounterVec
	reclaimed prometheus.Counter
}

func newMetrics(to prometheus.Registerer) (metrics, error) {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_http_requests_total",
			Help: "HTTP requests answered, by route, method and status.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "drawsvc_http_request_duration_seconds",
			Help:    "Time from a request's headers to its answer, by route and method.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_tokens_refused_total",
			Help: "Bearer tokens refused, by reason: wrong, expired, or unread because the address had sent too many wrong ones.",
		}, []string{"reason"}),
	}
	m.reclaimed = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "drawsvc_http_connections_reclaimed_total",
		Help: "Idle connections closed because a new one came and the most were open.",
	})
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.refused, m.reclaimed} {
		if err := to.Register(c); err != nil {
			return metrics{}, err
		}
	}
	for _, reason := range []refusedToken{tokenWrong, tokenExpired} {
		m.refused.WithLabelValues(string(reason)) // is there from the first scrape on
	}
	return m, nil
}

// register shows the connections.
func (c *connections) register(to prometheus.Registerer) error {
	return errors.Join(
		to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "drawsvc_http_connections_open", Help: "Connections of callers, save those of the listener for probes.",
		}, func() float64 { return float64(c.count()) })),
		to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "drawsvc_http_connections_max", Help: "Most connections of callers at once.",
		}, func() float64 { return float64(c.most) })),
	)
}

// showMetrics answers GET /metrics. A metric that cannot be collected is
// logged and left out.
func (s *Server) showMetrics() handler {
	show := promhttp.HandlerFor(s.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.Log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesMax,
		Timeout:             s.RequestTimeout,
		// Exemplars exist in this format alone, which writes bounds of buckets in
		// another way: without tracing the metrics stay as they were.
		EnableOpenMetrics: s.Tracer != nil,
	})
	return func(c call) error {
		c.gin.Header("Content-Type", "text/plain; charset=utf-8") // a scrape that takes too long is answered without a type
		show.ServeHTTP(c.gin.Writer, c.gin.Request)
		return nil
	}
}

// scrapesMax is the most scrapes that are answered at once.
const scrapesMax = 4

// methodOther stands for a method of the caller's own.
const methodOther = "other"

// boundedMethod is the method as a label: callers may send any word.
func boundedMethod(method string) string {
	switch method {
	case nethttp.MethodGet, nethttp.MethodHead, nethttp.MethodPost, nethttp.MethodPut,
		nethttp.MethodPatch, nethttp.MethodDelete, nethttp.MethodOptions:
		return method
	}
	return methodOther
}
