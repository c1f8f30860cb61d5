package http

import (
	nethttp "net/http"

	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/problem"
)

// metrics have only labels whose values this package bounds: route, method, status, and
// the code of a problem. Callers cannot add values.
type metrics struct {
	requests  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	refused   *prometheus.CounterVec
	reclaimed prometheus.Counter
	// refusals has the counter of each problem.
	refusals map[draw.Code]prometheus.Counter
}

func newMetrics(to prometheus.Registerer) (metrics, error) {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_http_requests_total",
			Help: "HTTP requests answered, by route, method and status; paused is the status of draws that a planned pause refused.",
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
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "drawsvc_http_refusals_total",
		Help: "Requests answered with a problem, by its code.",
	}, []string{"code"})
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.refused, m.reclaimed, refusals} {
		if err := to.Register(c); err != nil {
			return metrics{}, err
		}
	}
	for _, reason := range []gate.Refused{gate.Wrong, gate.Expired} {
		m.refused.WithLabelValues(string(reason)) // exists from the first scrape on
	}
	m.refusals = map[draw.Code]prometheus.Counter{}
	for code := range problem.Table() {
		m.refusals[code] = refusals.WithLabelValues(string(code))
	}
	return m, nil
}

// statusPaused replaces the status of draws that a planned pause refuses: they are not
// failures of the service.
const statusPaused = "paused"

// methodOther replaces a method that is not a standard one.
const methodOther = "other"

// boundedMethod returns the method as a label: callers may send any word.
func boundedMethod(method string) string {
	switch method {
	case nethttp.MethodGet, nethttp.MethodHead, nethttp.MethodPost, nethttp.MethodPut,
		nethttp.MethodPatch, nethttp.MethodDelete, nethttp.MethodOptions:
		return method
	}
	return methodOther
}
