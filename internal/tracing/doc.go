// Package tracing sends traces by OpenTelemetry, configured by the standard OTEL_*
// variables. Without them there is no provider, no goroutine and no span. It does not
// depend on draws: packages http and group begin their spans with the tracer that they
// receive. While tracing is off they receive none.
//
// Traces never cost a draw: spans wait in a queue with a maximum length (law 5), and
// are dropped when it is full. An unreachable collector costs one log line each minute.
package tracing
