package http

import (
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
)

// traced makes a server record its spans.
func traced(recorded *tracetest.SpanRecorder) setup {
	return func(c *Config) {
		c.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorded)).Tracer("")
		c.Propagator = propagation.TraceContext{}
	}
}

// attributesOf returns the attributes of a span, as text.
func attributesOf(span sdktrace.ReadOnlySpan) map[string]string {
	values := map[string]string{}
	for _, a := range span.Attributes() {
		values[string(a.Key)] = a.Value.String()
	}
	return values
}

// TestNoSecretsInSpans: no span of any call contains a secret, for any result.
func TestNoSecretsInSpans(t *testing.T) {
	for _, failure := range []error{nil, errors.New("error-of-the-store")} {
		recorded := tracetest.NewSpanRecorder()
		s := undescribed(newServer(t, &fake{err: failure}, withDrawToken, traced(recorded))) // the page of fairness takes any parameter
		for _, call := range calls() {
			for _, token := range []string{adminToken, drawToken, "wrong-token"} {
				do(s, request(call.method, call.target+"?token=in-the-query", call.body,
					"Authorization", "Bearer "+token, "Idempotency-Key", "key-of-the-caller", "X-Request-Id", "bad id\n"+token, "User-Agent", "agent-of-the-caller"))
				do(s, request(call.method, call.target, call.body, "Authorization", "Bearer "+token, "Idempotency-Key", "key-of-the-caller"))
			}
		}
		do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"user-of-the-caller"}`))
		do(s, asAdmin("POST", "/draw", `{"pool":"pool-that-is-none/","user":"u"}`))
		do(s, asAdmin("GET", "/pools/p/users/user-of-the-caller", ""))
		do(s, asAdmin("GET", "/pools/p/draws/key-of-the-caller", ""))
		do(s, request("SECRET", "/no/secret-path", ""))
		require.Greater(t, len(recorded.Ended()), 100)
		require.Len(t, recorded.Started(), len(recorded.Ended()))
		for _, span := range recorded.Ended() {
			text := span.Name() + span.Status().Description
			for key, value := range attributesOf(span) {
				text += key + value
			}
			require.Empty(t, span.Events())
			for _, secret := range []string{
				adminToken, drawToken, "wrong-token", "in-the-query", "-of-the-caller", "secret-path", "SECRET", "error-of-the-store", "pool-that-is-none", "192.0.2.1",
			} {
				require.NotContains(t, text, secret)
			}
		}
	}
}

// TestSpansByConvention: names, attributes and status follow OpenTelemetry's
// conventions for HTTP servers.
func TestSpansByConvention(t *testing.T) {
	recorded := tracetest.NewSpanRecorder()
	f := &fake{}
	s := newServer(t, f, traced(recorded))
	last := func() sdktrace.ReadOnlySpan { return recorded.Ended()[len(recorded.Ended())-1] }

	r := asAdmin("POST", "/draw", `{"pool":"spring","user":"u"}`, "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	r.TLS = &tls.ConnectionState{}
	do(s, r)
	require.Equal(t, "POST /draw", last().Name())
	require.Equal(t, trace.SpanKindServer, last().SpanKind())
	require.True(t, last().Parent().IsRemote())
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", last().SpanContext().TraceID().String())
	require.Equal(t, codes.Unset, last().Status().Code)
	require.Equal(t, map[string]string{
		"http.request.method": "POST", "http.route": "/draw", "http.response.status_code": "200", "url.scheme": "https",
		"network.protocol.version": "1.1", "drawsvc.pool": "spring", "drawsvc.outcome": "won",
	}, attributesOf(last()))

	f.err = draw.Errorf(draw.CodeSoldOut, "none is left")
	do(s, asAdmin("POST", "/draw", `{"pool":"spring","user":"u"}`))
	require.Equal(t, codes.Unset, last().Status().Code, "no error of the server")
	require.Equal(t, "sold-out", attributesOf(last())["drawsvc.outcome"])
	f.err = draw.Errorf(draw.CodeContended, "busy")
	do(s, asAdmin("POST", "/draw", `{"pool":"spring","user":"u"}`))
	require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "contended"}, last().Status())
	require.Equal(t, "contended", attributesOf(last())["error.type"])
	f.err = nil

	do(s, asAdmin("GET", "/pools/spring", ""))
	require.Equal(t, "GET /pools/:pool", last().Name())
	require.Equal(t, "spring", attributesOf(last())["drawsvc.pool"])
	do(s, request("BREW", "/tea", ""))
	require.Equal(t, "HTTP", last().Name())
	require.Contains(t, last().Attributes(), attribute.String("http.request.method", "_OTHER"))
	require.NotContains(t, attributesOf(last()), "http.route")

	ended := len(recorded.Ended())
	for _, probe := range []string{"/livez", "/readyz", "/metrics"} {
		do(s, asAdmin("GET", probe, ""))
	}
	require.Len(t, recorded.Ended(), ended, "probes are not traced")
}

// TestExemplars: the latency of a recorded request names its trace, only in the format
// that supports it, and only while requests are traced.
func TestExemplars(t *testing.T) {
	const format = "application/openmetrics-text"
	recorded := tracetest.NewSpanRecorder()
	scrape := func(s *Server) *httptest.ResponseRecorder {
		do(s, asAdmin("POST", "/draw", `{"pool":"spring","user":"u"}`))
		return do(s, asAdmin("GET", "/metrics", "", "Accept", format))
	}
	shown := scrape(newServer(t, &fake{}, traced(recorded)))
	require.Contains(t, shown.Header().Get("Content-Type"), format)
	require.Contains(t, shown.Body.String(), `trace_id="`+recorded.Ended()[0].SpanContext().TraceID().String()+`"`)
	shown = scrape(newServer(t, &fake{}, func(c *Config) {
		c.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("")
	}))
	require.NotContains(t, shown.Body.String(), "trace_id")
	shown = scrape(newServer(t, &fake{}))
	require.Contains(t, shown.Header().Get("Content-Type"), "text/plain", "as without tracing")
	require.NotContains(t, shown.Body.String(), "trace_id")
}

// TestUntracedDrawsAllocateNothingMore: without a tracer, the allocations of a draw do
// not depend on the headers of traces. The control is a service with a tracer.
func TestUntracedDrawsAllocateNothingMore(t *testing.T) {
	allocated := func(changes setup, headers ...string) float64 {
		s := newServer(t, &fake{}, func(c *Config) { c.Drawer = instant{} }, changes)
		r := request("POST", "/draw", benchmarkBody, append(headers, "Idempotency-Key", "0197f5b2")...)
		w, body := &discarding{map[string][]string{}}, &rewound{}
		return testing.AllocsPerRun(200, func() {
			body.Reset([]byte(benchmarkBody))
			r.Body = body
			clear(w.h)
			s.engine.ServeHTTP(w, r)
		})
	}
	header := []string{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	off := func(*Config) {}
	require.InDelta(t, allocated(off), allocated(off, header...), 2) // with the race detector, a sync.Pool drops some buffers
	require.Greater(t, allocated(traced(tracetest.NewSpanRecorder()), header...), allocated(off)+5)
	o := &observed{}
	s := newServer(t, &fake{})
	c := call{server: s, route: &o.route}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if s.traced(&o.route) || c.span() != nil {
			t.Error("traced")
		}
		c.spanPool("p")
		c.spanDraw(&draw.Draw{})
		c.endSpan(200, nil, false)
	}))
}
