package serve

import (
	"context"
	"log/slog"
	"time"

	"drawsvc/internal/tracing"
)

// flushMax bounds how long the end of the service waits for the collector of traces.
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
