package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
)

// Log returns a logger that adds trace_id and span_id to lines whose context has a span.
// While tracing is off it returns log.
func (t *Tracing) Log(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(spanned{log.Handler()})
}

// spanned adds the span of the context to log lines.
type spanned struct{ slog.Handler }

// Handle implements slog.Handler.
func (h spanned) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h spanned) WithAttrs(attrs []slog.Attr) slog.Handler {
	return spanned{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h spanned) WithGroup(name string) slog.Handler { return spanned{h.Handler.WithGroup(name)} }

// failuresEvery is the minimum time between two log lines about failed exports.
const failuresEvery = time.Minute

// failures logs errors of tracing: the first one at once, then the number of errors once
// a minute. It implements otel.ErrorHandler.
type failures struct {
	log *slog.Logger

	mu    sync.Mutex
	said  time.Time
	since int
}

// Handle implements otel.ErrorHandler.
func (f *failures) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since++
	now := time.Now()
	if !f.said.IsZero() && now.Sub(f.said) < failuresEvery {
		return
	}
	f.log.Warn("traces are not sent", "error", err, "failures", f.since)
	f.said, f.since = now, 0
}

// settings logs settings that the SDK cannot use. It leaves out their values, which may
// contain a collector's password. It implements logr.LogSink.
type settings struct{ log *slog.Logger }

// Init implements logr.LogSink.
func (settings) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink: only errors are logged.
func (settings) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (settings) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (s settings) Error(_ error, problem string, _ ...any) {
	s.log.Warn("a setting of tracing is not used", "problem", problem)
}

// WithValues implements logr.LogSink.
func (s settings) WithValues(...any) logr.LogSink { return s }

// WithName implements logr.LogSink.
func (s settings) WithName(string) logr.LogSink { return s }
