package serve

import (
	"context"
	"log/slog"
	"time"

	"drawsvc/internal/tracing"
)

// flushMax bounds how long the end of the service waits for the collector of
// traces.
const flushMax = 2 * time.Second

// startTraces begins to trace where the environment asks for it. The logger that
// it returns names the trace of a line; flush sends the spans that wait, within
// flushMax and as long as last lasts.
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
