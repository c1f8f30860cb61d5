package http

import (
	"errors"
	"log/slog"
	nethttp "net/http"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// admitted holds the members of the log line that only an admitted call has: its actor,
// "" for anyone, and its pool. The path of a caller without a token is not logged,
// because it may contain anything.
type admitted struct{ actor, pool string }

// admittedKey is the key of admitted in gin's context.
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

// log writes the request's one log line. It names the route, never the path or the
// query, which may contain keys. Repeated refusals are logged once and then counted:
// anyone can cause them.
func (c call) log(level slog.Level, taken time.Duration) {
	status := c.gin.Writer.Status()
	cause := c.cause()
	switch {
	case status == nethttp.StatusInternalServerError:
		level = slog.LevelError
	case status > nethttp.StatusInternalServerError && !c.route.draws() && !c.route.probes():
		level = slog.LevelWarn // failed draws are logged with their batch, and a change of readiness once
	case isRefusal(status) || status >= nethttp.StatusBadRequest && level > slog.LevelDebug:
		level = c.server.refusals.level(refusalOf(c.route.path, cause), c.server.gate.Remote(c.gin.Request))
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
		slog.String("remote", c.server.gate.Remote(c.gin.Request).String()))
	if about, in := c.gin.Get(admittedKey{}); in {
		attrs = about.(admitted).attrs(attrs)
	}
	if cause != nil {
		attrs = append(attrs, slog.String("code", string(draw.CodeOf(cause))))
		if reason, ok := errors.AsType[gate.Refused](cause); ok {
			attrs = append(attrs, slog.String("token", string(reason)))
		}
		if status >= nethttp.StatusInternalServerError {
			attrs = append(attrs, slog.String("error", cause.Error()))
		}
	}
	c.server.Log.LogAttrs(ctx, level, "request", attrs...)
}

// requestIDHeader names a request in the log and in problems. A caller's own id is kept
// if it is short and simple.
const requestIDHeader = "X-Request-Id"

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

// cause returns the error that the request was answered with, nil if it succeeded.
func (c call) cause() error {
	if last := c.gin.Errors.Last(); last != nil {
		return last.Err
	}
	return nil
}
