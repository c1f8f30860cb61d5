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
	"github.com/google/uuid"
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
	route    string
	requests *prometheus.CounterVec // by status, or by method and status when unmatched
	duration prometheus.Observer
	// well counts the answers 200, most of those there are.
	well prometheus.Counter
	// level is the level of a request that went well. A service draws far more
	// often than anyone wants to read.
	level slog.Level
}

// observe counts, times and logs a route's requests, and turns a panic into
// an answer.
func (s *Server) observe(method, route string) gin.HandlerFunc {
	o := &observed{route: route, level: slog.LevelInfo}
	o.duration = s.metrics.duration.WithLabelValues(route, method)
	labels := prometheus.Labels{"route": route, "method": method}
	if route == unmatched {
		labels = prometheus.Labels{"route": route}
		o.duration = s.metrics.duration.WithLabelValues(route, "any")
	}
	o.requests = s.metrics.requests.MustCurryWith(labels)
	if route != unmatched {
		o.well = o.requests.WithLabelValues(strconv.Itoa(nethttp.StatusOK))
	}
	if route == drawPath {
		o.level = slog.LevelDebug
	}
	return func(c *gin.Context) {
		begin := time.Now()
		defer s.finish(c, o, begin)
		c.Next()
	}
}

// finish is deferred by observe.
func (s *Server) finish(c *gin.Context, o *observed, begin time.Time) {
	abort := false
	if reason := recover(); reason != nil {
		abort = s.recovered(c, reason)
	}
	taken := time.Since(begin)
	o.duration.Observe(taken.Seconds())
	switch status := c.Writer.Status(); {
	case o.route == unmatched:
		o.requests.WithLabelValues(boundedMethod(c.Request.Method), strconv.Itoa(status)).Inc()
	case status == nethttp.StatusOK:
		o.well.Inc()
	default:
		o.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	}
	s.logRequest(c, o, taken)
	if abort {
		panic(nethttp.ErrAbortHandler)
	}
}

// recovered answers a request that panicked. It says whether the connection
// must be cut, because part of an answer has gone out already.
func (s *Server) recovered(c *gin.Context, reason any) (abort bool) {
	if err, ok := reason.(error); ok && errors.Is(err, nethttp.ErrAbortHandler) {
		return true
	}
	err := fmt.Errorf("panic: %v", reason)
	s.Log.Error("a request panicked", "error", err, "request_id", requestID(c), "stack", string(debug.Stack()))
	if c.Writer.Written() {
		return true
	}
	s.fail(c, err)
	return false
}

// logRequest writes the request's one line. It names the route, never the
// path or the query, which may hold keys.
func (s *Server) logRequest(c *gin.Context, o *observed, taken time.Duration) {
	status, level := c.Writer.Status(), o.level
	switch {
	case status == nethttp.StatusInternalServerError:
		level = slog.LevelError
	case status > nethttp.StatusInternalServerError && o.route != drawPath:
		level = slog.LevelWarn // a draw's is in the log once for its batch, and counted
	}
	ctx := c.Request.Context()
	if !s.Log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("method", boundedMethod(c.Request.Method)),
		slog.String("route", o.route),
		slog.Int("status", status),
		slog.Duration("duration", taken),
		slog.Int("bytes", max(0, c.Writer.Size())),
		slog.String("request_id", requestID(c)))
	if last := c.Errors.Last(); last != nil {
		attrs = append(attrs, slog.String("code", string(draw.CodeOf(last.Err))))
		if status >= nethttp.StatusInternalServerError {
			attrs = append(attrs, slog.String("error", last.Err.Error()))
		}
	}
	s.Log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID returns the request's id: the caller's own, or one made on first
// use. It is kept in the headers of the answer.
func requestID(c *gin.Context) string {
	h := c.Writer.Header()
	if id := h.Get(requestIDHeader); id != "" {
		return id
	}
	id := c.Request.Header.Get(requestIDHeader)
	if !isPlainID(id) {
		id = uuid.NewString()
	}
	h.Set(requestIDHeader, id)
	return id
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
