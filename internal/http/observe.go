package http

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/problem"
)

// observed holds the facts about a route that are known before any request.
type observed struct {
	route
	requests *prometheus.CounterVec // by status, or by method and status if unmatched
	duration prometheus.Observer
	// examples is the same histogram as duration if requests are traced, otherwise nil.
	examples prometheus.ExemplarObserver
	// well is the counter of the answers 200, which are the most frequent ones.
	well prometheus.Counter
	// level is the log level of a request that succeeds. It is lower for draws and
	// probes, which are too frequent to be read, and for calls without a token, which
	// anyone can make as often as they want.
	level slog.Level
}

func (s *Server) observed(r route) *observed {
	o := &observed{route: r, level: slog.LevelInfo}
	if r.draws() || r.probes() || r.role == roleNone {
		o.level = slog.LevelDebug
	}
	if r.path == unmatched {
		o.requests = s.metrics.requests.MustCurryWith(prometheus.Labels{"route": r.path})
		o.duration = s.metrics.duration.WithLabelValues(r.path, "any")
		return o
	}
	o.requests = s.metrics.requests.MustCurryWith(prometheus.Labels{"route": r.path, "method": r.method})
	o.duration = s.metrics.duration.WithLabelValues(r.path, r.method)
	if s.traced(&o.route) {
		o.examples, _ = o.duration.(prometheus.ExemplarObserver)
	}
	o.well = o.requests.WithLabelValues(strconv.Itoa(nethttp.StatusOK))
	if r.draws() { // alerts watch these: Prometheus does not see the first increase of a counter that begins at 1
		for _, status := range []int{nethttp.StatusInternalServerError, nethttp.StatusServiceUnavailable, nethttp.StatusGatewayTimeout} {
			o.requests.WithLabelValues(strconv.Itoa(status))
		}
		o.requests.WithLabelValues(statusPaused)
	}
	return o
}

// finish is deferred by observe.
func (c call) finish(o *observed, begin time.Time) {
	abort := false
	if reason := recover(); reason != nil {
		abort = c.recovered(reason)
	}
	taken := time.Since(begin)
	if !o.streams() { // how long a caller listens is not a latency
		o.observeDuration(c.gin.Request.Context(), taken.Seconds())
	}
	switch status := c.gin.Writer.Status(); {
	case o.path == unmatched:
		o.requests.WithLabelValues(boundedMethod(c.gin.Request.Method), strconv.Itoa(status)).Inc()
	case status == nethttp.StatusOK:
		o.well.Inc()
	case o.draws() && draw.CodeOf(c.cause()) == draw.CodePaused:
		o.requests.WithLabelValues(statusPaused).Inc()
	default:
		o.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	}
	c.log(o.level, taken)
	c.endSpan(c.gin.Writer.Status(), c.cause(), abort)
	if abort {
		panic(nethttp.ErrAbortHandler)
	}
	if c.leavesBody() {
		c.linger()
	}
}

// recovered answers a request that panicked. It reports whether the connection must be
// cut, because part of an answer was already sent.
func (c call) recovered(reason any) (abort bool) {
	if err, ok := reason.(error); ok && errors.Is(err, nethttp.ErrAbortHandler) {
		return true
	}
	err := fmt.Errorf("panic: %v", reason)
	c.server.Log.ErrorContext(c.gin.Request.Context(), "a request panicked", "error", err, "request_id", c.id, "stack", string(debug.Stack()))
	if c.gin.Writer.Written() {
		return true
	}
	c.fail(err)
	return false
}

// observeDuration records the time of a request. If the request's trace is recorded, it
// becomes the exemplar of that time.
func (o *observed) observeDuration(ctx context.Context, seconds float64) {
	if o.examples == nil {
		o.duration.Observe(seconds)
		return
	}
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		o.duration.Observe(seconds)
		return
	}
	o.examples.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": span.TraceID().String(), "span_id": span.SpanID().String()})
}

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
			Help: "Bearer tokens refused, by reason: wrong or expired.",
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
