package serve

import (
	"context"
	"io"
	"log/slog"
	"time"

	"drawsvc/internal/setting"
	"drawsvc/internal/tracing"
)

// NewLog returns the log of a service, or of a publisher.
func NewLog(c *Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.level}
	if c.logFormat == "text" || c.logFormat == "" && setting.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// flushMax bounds how long the shutdown of the service waits for the collector of
// traces.
const flushMax = 2 * time.Second

// startTraces starts tracing if the environment enables it. The returned logger adds to
// each line the trace that it belongs to. flush sends the remaining spans, within
// flushMax and before last ends.
func startTraces(ctx, last context.Context, version string, log *slog.Logger) (traces *tracing.Tracing, traced *slog.Logger, flush func()) {
	traces = tracing.Start(ctx, version, log)
	return traces, traces.Log(log), func() {
		ctx, cancel := context.WithTimeout(last, flushMax)
		defer cancel()
		if err := traces.Stop(ctx); err != nil {
			log.Warn("the last traces are lost", "error", err)
		}
	}
}
