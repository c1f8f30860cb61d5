package http

import (
	"context"
	"errors"
	"log/slog"
	nethttp "net/http"
	"net/netip"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/repeats"
)

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

// isRefusal reports whether the status refuses a caller who may not call, which is
// logged on every route.
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

// sumUp logs the repetitions since its last call. A kind that was repeated is still
// only counted; the next refusal of any other kind is logged.
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
