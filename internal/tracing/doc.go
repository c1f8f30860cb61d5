// Package tracing sends traces by OpenTelemetry, as the standard OTEL_*
// variables say. Without them there is no provider, no goroutine and no span.
// It knows nothing of draws: packages http and group begin their spans with the
// tracer that they are given, and are given none while tracing is off.
//
// Traces are never worth a draw: spans wait in a queue with a length (law 5),
// and are dropped when it is full. A collector that is away costs a line of the
// log each minute.
package tracing
