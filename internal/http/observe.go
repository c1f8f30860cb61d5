package http

import (
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/draw"
)

// unmatched is the route of requests that no route took.
const unmatched = "unmatched"

// requestIDHeader names a request in the log and in problems. A caller's own
// id is kept when it is short and plain.
const requestIDHeader = "X-Request-Id"

// observed is what is known of a route before any request comes.
type observed struct {
	route
	requests *prometheus.CounterVec // by status, or by method and status when unmatched
	duration prometheus.Observer
	// examples is duration where requests are traced, else nil.
	examples prometheus.ExemplarObserver
	// well counts the answers 200, most of those there are.
	well prometheus.Counter
	// level is the level of a request that went well. A service draws, and is
	// probed, far more often than anyone wants to read. Calls that need no token can
	// be made by anyone, as often as he likes.
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
	if s.traced(o) {
		o.examples, _ = o.duration.(prometheus.ExemplarObserver)
	}
	o.well = o.requests.WithLabelValues(strconv.Itoa(nethttp.StatusOK))
	if r.draws() { // alerts watch these: of a counter that begins at 1, Prometheus does not see the first increase
		for _, status := range []int{nethttp.StatusInternalServerError, nethttp.StatusServiceUnavailable, nethttp.StatusGatewayTimeout} {
			o.requests.WithLabelValues(strconv.Itoa(status))
		}
	}
	return o
}

// observe makes gin's handler of a route's: it counts, times and logs the
// requests, and turns errors and panics into answers.
func (s *Server) observe(r route, handle handler) gin.HandlerFunc {
	o := s.observed(r)
	return func(g *gin.Context) {
		begin := time.Now()
		c := call{server: s, route: &o.route, gin: g, id: s.requestID(g.Request.Header)}
		if s.traced(o) {
			s.beginSpan(o, g)
		}
		defer c.finish(o, begin)
		h := g.Writer.Header()
		h["Cache-Control"], h["X-Content-Type-Options"] = s.headers.noStore, s.headers.noSniff
		h[requestIDHeader] = []string{c.id}
		if g.Request.TLS != nil {
			h["Strict-Transport-Security"] = s.headers.onlyTLS
		}
		if err := handle(c); err != nil {
			c.fail(err)
		}
	}
}

// finish is deferred by observe.
func (c call) finish(o *observed, begin time.Time) {
	abort := false
	if reason := recover(); reason != nil {
		abort = c.recovered(reason)
	}
	taken := time.Since(begin)
	if !o.streams() { // how long somebody listens is no latency
		o.observeDuration(c.gin.Request.Context(), taken.Seconds())
	}
	switch status := c.gin.Writer.Status(); {
	case o.path == unmatched:
		o.requests.WithLabelValues(boundedMethod(c.gin.Request.Method), strconv.Itoa(status)).Inc()
	case status == nethttp.StatusOK:
		o.well.Inc()
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

// recovered answers a request that panicked. It says whether the connection
// must be cut, because part of an answer was sent already.
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

// cause is the error that the request was answered with, nil when it went well.
func (c call) cause() error {
	if last := c.gin.Errors.Last(); last != nil {
		return last.Err
	}
	return nil
}

// admitted is what the log tells of a call that was let in: who makes it, "" for
// anyone, and the pool that it is about. What a caller without a token writes into a
// path is left out: it may be anything.
type admitted struct{ actor, pool string }

// admittedKey is that of admitted in gin's context.
type admittedKey struct{}

func (a admitted) attrs(attrs []slog.Attr) []slog.Attr {
	if a.actor != "" {
		attrs = append(attrs, slog.String("actor", a.actor))
	}
	if a.pool != "" {
		attrs = append(attrs, slog.String("pool", a.pool))
	}
	return attrs
}

// log writes the request's one line. It names the route, never the path or
// the query, which may hold keys. Of refusals that repeat, one line is written
// and the rest counted: anyone can cause them.
func (c call) log(level slog.Level, taken time.Duration) {
	status := c.gin.Writer.Status()
	cause := c.cause()
	switch {
	case status == nethttp.StatusInternalServerError:
		level = slog.LevelError
	case status > nethttp.StatusInternalServerError && !c.route.draws() && !c.route.probes():
		level = slog.LevelWarn // a draw's is in the log with its batch, and a change of readiness is one line
	case isRefusal(status) || status >= nethttp.StatusBadRequest && level > slog.LevelDebug:
		level = c.server.refusals.level(refusalOf(c.route, cause), c.server.gate.remote(c.gin.Request))
	}
	ctx := c.gin.Request.Context()
	if !c.server.Log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("method", boundedMethod(c.gin.Request.Method)),
		slog.String("route", c.route.path),
		slog.Int("status", status),
		slog.Float64("duration_ms", float64(taken.Microseconds())/1000),
		slog.Int("bytes", max(0, c.gin.Writer.Size())),
		slog.String("request_id", c.id),
		slog.String("remote", c.server.gate.remote(c.gin.Request).String()))
	if about, in := c.gin.Get(admittedKey{}); in {
		attrs = about.(admitted).attrs(attrs)
	}
	if cause != nil {
		attrs = append(attrs, slog.String("code", string(draw.CodeOf(cause))))
		if reason, ok := errors.AsType[refusedToken](cause); ok {
			attrs = append(attrs, slog.String("token", string(reason)))
		}
		if status >= nethttp.StatusInternalServerError {
			attrs = append(attrs, slog.String("error", cause.Error()))
		}
	}
	c.server.Log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID returns the id of a request with the header h: the caller's own,
// or a new one.
func (s *Server) requestID(h nethttp.Header) string {
	if ids := h[requestIDHeader]; len(ids) > 0 && isPlainID(ids[0]) {
		return ids[0]
	}
	return s.ids.next()
}

func isPlainID(s string) bool {
	for i := range len(s) {
		c := s[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
		if !plain {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
