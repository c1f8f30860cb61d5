package http

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/repeats"
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
		level = slog.LevelWarn // draws and probes are left out: failed draws are logged with their batch, and each change of readiness once
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

// ids makes the ids of requests. Every request gets one, so making it must be cheap. The
// first part of an id is random and identifies this process.
type ids struct {
	process string
	last    *atomic.Uint64
}

func newIDs() ids { return ids{rand.Text()[:16] + "-", new(atomic.Uint64)} }

func (i ids) next() string {
	id := append(make([]byte, 0, 32), i.process...)
	return string(strconv.AppendUint(id, i.last.Add(1), 36))
}

const (
	// refusalsEvery is how often repeated refusals are summed up in the log.
	refusalsEvery = 10 * time.Second
	// addressesMax is the maximum number of addresses in such a log line.
	addressesMax = 4
)

// refusal is the kind by which refusals are counted: code and route, which have few
// values. All refused tokens are one kind, for all calls together.
type refusal struct {
	code  draw.Code
	route string
	token gate.Refused
}

func refusalOf(path string, cause error) refusal {
	if reason, ok := errors.AsType[gate.Refused](cause); ok {
		return refusal{code: draw.CodeOf(cause), token: reason}
	}
	return refusal{code: draw.CodeOf(cause), route: path}
}

// isRefusal reports whether the status refuses a caller that may not make the call. Such
// refusals are logged on every route.
func isRefusal(status int) bool {
	return status == nethttp.StatusUnauthorized || status == nethttp.StatusForbidden || status == nethttp.StatusTooManyRequests
}

// refusals counts repeated refusals instead of logging each.
type refusals struct {
	log   *slog.Logger
	kinds repeats.Counter[refusal, refused]
}

// refused counts the refusals of one kind after the first.
type refused struct {
	count     int
	addresses []string
	more      bool
}

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log}
}

// level returns the log level of a refusal: the first of its kind is info, or warn for
// a refused token; later ones are debug.
func (r *refusals) level(kind refusal, from netip.Addr) slog.Level {
	address := from.String()
	isFirst := r.kinds.Note(kind, func(counted *refused) {
		counted.count++
		switch {
		case slices.Contains(counted.addresses, address):
		case len(counted.addresses) < addressesMax:
			counted.addresses = append(counted.addresses, address)
		default:
			counted.more = true
		}
	})
	if isFirst {
		return kind.level()
	}
	return slog.LevelDebug
}

func (k refusal) level() slog.Level {
	if k.token != "" {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// sumUp logs the repetitions since its last call. A kind that had repetitions continues
// to be only counted. For any other kind, the next refusal is logged again.
func (r *refusals) sumUp() {
	for kind, counted := range r.kinds.Take(func(counted *refused) bool { return counted.count > 0 }) {
		attrs := []slog.Attr{
			slog.String("code", string(kind.code)), slog.Int("count", counted.count),
			slog.Any("remotes", counted.addresses), slog.Bool("more_remotes", counted.more),
		}
		if kind.route != "" {
			attrs = append(attrs, slog.String("route", kind.route))
		}
		if kind.token != "" {
			attrs = append(attrs, slog.String("token", string(kind.token)))
		}
		r.log.LogAttrs(context.Background(), kind.level(), "requests refused", attrs...)
	}
}
