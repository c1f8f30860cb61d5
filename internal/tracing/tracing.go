package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation, and the default name of the service.
const scope = "drawsvc"

// Tracing sends spans until it is stopped. A nil Tracing is off.
type Tracing struct {
	provider   *sdktrace.TracerProvider
	propagator propagation.TextMapPropagator
	version    string
}

// Start returns the tracing that the environment configures, nil if it configures none.
// If tracing cannot be set up, Start logs the reason and returns nil, because drawing is
// more important. version is the program's.
func Start(ctx context.Context, version string, log *slog.Logger) *Tracing {
	name := wanted()
	if name == exporterNone {
		return nil
	}
	failures := &failures{log: log}
	otel.SetErrorHandler(failures)
	otel.SetLogger(logr.New(settings{log}))
	t, err := start(ctx, name, version)
	if err != nil {
		log.Warn("tracing is off: it cannot be set up as the environment says", "error", err)
		return nil
	}
	log.Info("tracing is on", "exporter", name, "protocol", protocol())
	return t
}

func start(ctx context.Context, name, version string) (*Tracing, error) {
	exporter, err := newExporter(ctx, name)
	if err != nil {
		return nil, err
	}
	// The environment comes last, so that its names take precedence.
	described, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(scope), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, errors.Join(err, exporter.Shutdown(ctx))
	}
	return &Tracing{
		provider:   sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described)),
		propagator: autoprop.NewTextMapPropagator(),
		version:    version,
	}, nil
}

func newExporter(ctx context.Context, name string) (sdktrace.SpanExporter, error) {
	if name != exporterOTLP {
		return nil, fmt.Errorf("%s is %q, and must be %s or %s", exporterVariable, name, exporterOTLP, exporterNone)
	}
	switch p := protocol(); p {
	case protocolGRPC:
		return otlptracegrpc.New(ctx)
	case "http/protobuf", "http/json":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("%s is %q, and must be http/protobuf, http/json or %s", protocolVariable, p, protocolGRPC)
	}
}

// Tracer returns the tracer that begins spans, nil while tracing is off.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(scope, trace.WithInstrumentationVersion(t.version))
}

// Propagator returns the propagator that OTEL_PROPAGATORS names, which reads the
// caller's span from the headers of a request; nil while tracing is off.
func (t *Tracing) Propagator() propagation.TextMapPropagator {
	if t == nil {
		return nil
	}
	return t.propagator
}

// Stop sends the remaining spans until ctx ends. It is called once, when no more spans
// begin. If the last export fails or ctx ends, it returns that error, and spans are lost.
func (t *Tracing) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
