package tracing

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for _, v := range os.Environ() { // the tests must not use the machine's own variables
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

func logger() (*slog.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return slog.New(slog.NewTextHandler(&out, nil)), &out
}

// TestTracingIsOffByDefault: unless a variable requests traces, there is no provider, no
// goroutine, no log line and no other logger.
func TestTracingIsOffByDefault(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"nothing":        {},
		"empty":          {endpointVariable: "", exporterVariable: " "},
		"of others":      {"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_SAMPLER": "always_on"},
		"disabled":       {disabledVariable: "TRUE", endpointVariable: "http://127.0.0.1:1"},
		"none":           {exporterVariable: "none", tracesEndpointVariable: "http://127.0.0.1:1"},
		"other exporter": {exporterVariable: "pigeon"},
		"other protocol": {endpointVariable: "http://127.0.0.1:1", protocolVariable: "smoke"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range variables {
				t.Setenv(name, value)
			}
			log, said := logger()
			ours := goleak.IgnoreCurrent()
			traces := Start(t.Context(), "1", log)
			require.Nil(t, traces)
			require.Nil(t, traces.Tracer())
			require.Nil(t, traces.Propagator())
			require.Same(t, log, traces.Log(log))
			require.NoError(t, traces.Stop(t.Context()))
			goleak.VerifyNone(t, ours)
			require.Equal(t, strings.HasPrefix(name, "other "), said.Len() > 0, said)
		})
	}
}

func TestTracingIsOnByVariable(t *testing.T) {
	for _, variable := range []string{endpointVariable, tracesEndpointVariable} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "http://127.0.0.1:1")
			log, said := logger()
			traces := Start(t.Context(), "1", log)
			require.NotNil(t, traces.Tracer())
			ctx, span := traces.Tracer().Start(t.Context(), "x")
			traces.Log(log).InfoContext(ctx, "hello")
			traces.Log(log).With("a", 1).WithGroup("g").InfoContext(ctx, "hello", "b", 2)
			id := span.SpanContext().TraceID().String()
			require.Equal(t, 2, strings.Count(said.String(), id), said)
			require.NoError(t, traces.Stop(t.Context()), "nothing to send")
		})
	}
}

// TestSamplerFollowsItsVariables: the SDK reads its variables for the sampler, and an
// unusable value is logged.
func TestSamplerFollowsItsVariables(t *testing.T) {
	t.Setenv(endpointVariable, "http://127.0.0.1:1")
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
	for sampler, want := range map[string][2]bool{ // without a caller's trace, and with a trace that the caller sampled
		"": {true, true}, "always_off": {false, false}, "parentbased_always_off": {false, true}, "often": {true, true},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		log, said := logger()
		traces := Start(t.Context(), "1", log)
		_, own := traces.Tracer().Start(t.Context(), "x")
		_, below := traces.Tracer().Start(trace.ContextWithSpanContext(t.Context(), caller), "x")
		require.Equal(t, want, [2]bool{own.SpanContext().IsSampled(), below.SpanContext().IsSampled()}, sampler)
		require.Equal(t, sampler == "often", strings.Contains(said.String(), "unsupported sampler"), said)
		require.NoError(t, traces.Stop(t.Context()))
	}
}

// TestPropagators: the variable selects B3 instead of W3C, or no propagator.
func TestPropagators(t *testing.T) {
	t.Setenv(endpointVariable, "http://127.0.0.1:1")
	for propagators, field := range map[string]string{"": "traceparent", "b3": "b3", "none": ""} {
		t.Setenv("OTEL_PROPAGATORS", propagators)
		log, _ := logger()
		traces := Start(t.Context(), "1", log)
		require.Equal(t, field == "", len(traces.Propagator().Fields()) == 0)
		if field != "" {
			require.Contains(t, traces.Propagator().Fields(), field)
		}
		require.NoError(t, traces.Stop(t.Context()))
	}
}

// TestNoSecretOfTheCollector: a header or a URL that cannot be parsed is not in the
// log.
func TestNoSecretOfTheCollector(t *testing.T) {
	t.Setenv(endpointVariable, "http://user:secret-of-url@127.0.0.1:1\x7f")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret-of-header%zz,secret-without-name")
	log, said := logger()
	traces := Start(t.Context(), "1", log)
	require.NoError(t, traces.Stop(t.Context()))
	require.Contains(t, said.String(), "a setting of tracing is not used")
	require.NotContains(t, said.String(), "secret")
}

// TestFailuresAreSummedUp: an unreachable collector does not flood the log.
func TestFailuresAreSummedUp(t *testing.T) {
	log, said := logger()
	f := &failures{log: log}
	for range 1000 {
		f.Handle(errors.New("connection refused"))
	}
	require.Equal(t, 1, strings.Count(said.String(), "\n"), said)
	f.said = time.Now().Add(-failuresEvery)
	f.Handle(errors.New("connection refused"))
	require.Equal(t, 2, strings.Count(said.String(), "\n"), said)
	require.Contains(t, said.String(), "failures=1000")
}
