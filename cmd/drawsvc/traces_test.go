package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// tracedTo is the program with variables of its own, in which traces are sent
// when it ends, and not sooner.
func (p program) tracedTo(endpoint string, variables ...string) program {
	vars := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "3600000"}
	for name, value := range p.vars {
		vars[name] = value
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	p.vars = vars
	return p
}

// endsWell ends a service, which must go well and in time.
func (s *process) endsWell() {
	s.tb.Helper()
	code, took := s.signal(syscall.SIGTERM)
	require.Equal(s.tb, exitOK, code, s.stderr.String())
	require.Less(s.tb, took, stopMax)
}

// private are words that no trace may hold.
var private = []string{"secret-user", "secret-key", "secret-token", "secret-query"}

// wellTraced says what is wrong with the traces of draws that were won, each a
// request of its own.
func wellTraced(all spans, draws int) error {
	requests := all.named("POST /draw")
	if len(requests) != draws {
		return fmt.Errorf("%d draws have %d spans", draws, len(requests))
	}
	taken := 0
	for _, batch := range all.named("batch") {
		a := attributes(batch.GetAttributes())
		if fmt.Sprint(len(batch.GetLinks())) != a["drawsvc.draws"] || a["drawsvc.mode"] == "" || a["drawsvc.pool"] != "spring" {
			return fmt.Errorf("a batch with %d links says %v", len(batch.GetLinks()), a)
		}
		taken += len(batch.GetLinks())
		if first := all.by(batch.GetParentSpanId()); first == nil || !links(batch, first) {
			return errors.New("a batch is no child of a draw of its own")
		}
		if n := len(all.below(batch).named("transaction")); n == 0 || fmt.Sprint(n) != a["drawsvc.attempts"] {
			return fmt.Errorf("a batch with %d transactions says %v", n, a)
		}
	}
	if taken != draws {
		return fmt.Errorf("batches have links to %d of %d draws", taken, draws)
	}
	for _, request := range requests {
		if err := wellFollowed(all, request); err != nil {
			return err
		}
	}
	return nil
}

// wellFollowed says what is wrong with the traces of one draw.
func wellFollowed(all spans, request *tracepb.Span) error {
	a := attributes(request.GetAttributes())
	for name, want := range map[string]string{
		"http.request.method": "POST", "http.route": "/draw", "http.response.status_code": "200", "url.scheme": "http",
		"drawsvc.pool": "spring", "drawsvc.outcome": "won",
	} {
		if a[name] != want {
			return fmt.Errorf("%s of a request is %q", name, a[name])
		}
	}
	if request.GetKind() != tracepb.Span_SPAN_KIND_SERVER {
		return fmt.Errorf("a request is of kind %s", request.GetKind())
	}
	waits := all.below(request).named("queue")
	if len(waits) != 1 || len(waits[0].GetLinks()) != 1 {
		return fmt.Errorf("a draw has %d waits", len(waits))
	}
	batch := all.by(waits[0].GetLinks()[0].GetSpanId())
	switch {
	case batch == nil || batch.GetName() != "batch" || !links(waits[0], batch) || !links(batch, request):
		return errors.New("a draw and its batch have no links to each other")
	case waits[0].GetEndTimeUnixNano() > batch.GetEndTimeUnixNano():
		return errors.New("a draw waits when its batch has ended")
	}
	return nil
}

// TestTraceOfADraw: request, wait, batch and transaction are one trace, the
// caller's. The log and the metrics name it, and nothing private is in it.
func TestTraceOfADraw(t *testing.T) {
	t.Parallel()
	const caller = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		c := startCollector(t)
		endpoint := map[string]string{"http/protobuf": c.http, "grpc": c.grpc}[protocol]
		s := spring(t, stocktest.URL(t, "sqlite")).tracedTo(endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
			"OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test,service.version=9", "OTEL_SERVICE_NAME=tombola",
			"OTEL_EXPORTER_OTLP_HEADERS=api-key=collectors-own").
			start("--log-level", "debug", "--draw-token", "secret-token-of-draws", "--admin-token", "secret-token-of-admins")
		status, body, err := s.ask("POST", "/draw", `{"pool":"spring","user":"secret-user"}`, "Authorization", "Bearer secret-token-of-draws",
			"Idempotency-Key", "secret-key", "traceparent", "00-"+caller+"-00f067aa0ba902b7-01")
		require.NoError(t, err)
		require.Equal(t, 200, status, body)
		status, metrics, err := s.ask("GET", "/metrics", "", "Accept", "application/openmetrics-text", "Authorization", "Bearer secret-token-of-admins")
		require.NoError(t, err)
		require.Equal(t, 200, status)
		status, _, err = s.ask("GET", "/pools/spring/draws/secret-key?secret-query=1", "", "Authorization", "Bearer secret-token-of-draws")
		require.NoError(t, err)
		require.Equal(t, 400, status)
		require.Empty(t, c.spans(), "they wait for the end")
		s.endsWell()

		all := c.spans()
		require.NoError(t, wellTraced(all, 1))
		request, batch := all.named("POST /draw")[0], all.named("batch")[0]
		require.Len(t, all, 5, "of the draw and of the read, none of the scrape")
		for _, span := range append(all.below(request), all.below(batch)...) {
			require.Equal(t, caller, traceID(span))
		}
		require.Equal(t, caller, traceID(request))
		require.Equal(t, "00f067aa0ba902b7", fmt.Sprintf("%x", request.GetParentSpanId()))
		require.Equal(t, "invalid-request", attributes(all.named("GET /pools/:pool/draws/:draw")[0].GetAttributes())["drawsvc.outcome"])
		for _, word := range append(private, "127.0.0.1", "collectors-own") {
			require.NotContains(t, c.text(t), word)
		}
		require.NotContains(t, s.stderr.String(), "collectors-own")

		own := c.resource()
		require.Equal(t, []string{"tombola", "9", "test"}, []string{own["service.name"], own["service.version"], own["deployment.environment"]})
		line := requestLine(s.service, "/draw")
		require.Equal(t, []any{caller, spanID(request)}, []any{line["trace_id"], line["span_id"]})
		require.Regexp(t, `drawsvc_http_request_duration_seconds_bucket\{method="POST",route="/draw",le="[^"]+"\} 1 # \{[^}]*trace_id="`+caller, metrics)
		if protocol != "grpc" {
			require.Equal(t, "collectors-own", c.headers[0].Get("Api-Key"))
		}
	}
}

// requestLine is the first line of the log about a request on the route.
func requestLine(s *service, route string) map[string]any {
	for _, line := range s.log() {
		if line["msg"] == "request" && line["route"] == route {
			return line
		}
	}
	return nil
}

// TestTracesOfABatch: each batch has links to all of its draws, and they to it.
func TestTracesOfABatch(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	s := spring(t, stocktest.URL(t, "sqlite")).tracedTo(c.http).start()
	drawsNamed(t, s.service, 90, 200)
	s.endsWell()
	all := c.spans()
	require.NoError(t, wellTraced(all, 90))
	require.Less(t, len(all.named("batch")), 90, "some draws were decided together")
	require.NotContains(t, c.text(t), "secret-user")

	// The doubles: traces in which one thing is wrong.
	another := []byte("another!")
	for _, double := range []struct {
		span  string
		spoil func(*tracepb.Span)
	}{
		{"POST /draw", func(s *tracepb.Span) { s.Name = "POST" }},
		{"POST /draw", func(s *tracepb.Span) { s.SpanId = another }},
		{"POST /draw", func(s *tracepb.Span) { s.Kind = tracepb.Span_SPAN_KIND_INTERNAL }},
		{"POST /draw", func(s *tracepb.Span) { s.Attributes = s.Attributes[1:] }},
		{"queue", func(s *tracepb.Span) { s.ParentSpanId = another }},
		{"queue", func(s *tracepb.Span) { s.Links = nil }},
		{"queue", func(s *tracepb.Span) { s.EndTimeUnixNano += uint64(time.Hour) }},
		{"batch", func(s *tracepb.Span) { s.Links = s.Links[1:] }},
		{"batch", func(s *tracepb.Span) { s.Links[0].SpanId = another }},
		{"batch", func(s *tracepb.Span) { s.ParentSpanId = nil }},
		{"batch", func(s *tracepb.Span) { s.Attributes = nil }},
		{"transaction", func(s *tracepb.Span) { s.ParentSpanId = nil }},
	} {
		var spoiled spans
		for _, span := range all {
			spoiled = append(spoiled, proto.CloneOf(span))
		}
		double.spoil(spoiled.named(double.span)[0])
		require.Error(t, wellTraced(spoiled, 90), double.span)
	}
}

// TestTraceOfAFailedBatch: the log's line about it names its trace, which says
// why its transactions were repeated.
func TestTraceOfAFailedBatch(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	url := stocktest.URL(t, "postgres")
	s := spring(t, url).tracedTo(c.http).start("--request-timeout", "1s")
	tx, err := rows(t, url).BeginTx(context.Background(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), `SELECT id FROM pools WHERE id = 'spring' FOR UPDATE`)
	require.NoError(t, err)
	drawsNamed(t, s.service, 20, 503)
	s.endsWell()
	lines, all := givenUp(s.service), c.spans()
	require.NotEmpty(t, lines)
	for _, line := range lines {
		var batch *tracepb.Span
		for _, span := range all.named("batch") {
			if spanID(span) == line["span_id"] {
				batch = span
			}
		}
		require.NotNil(t, batch, line)
		require.Equal(t, traceID(batch), line["trace_id"])
		require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, batch.GetStatus().GetCode())
		require.Equal(t, "contended", batch.GetStatus().GetMessage())
	}
	var reasons []string
	for _, span := range all.named("transaction") {
		reasons = append(reasons, attributes(span.GetAttributes())["drawsvc.retry.reason"])
	}
	require.Contains(t, reasons, "lock-wait")
	for _, span := range all.named("POST /draw") {
		require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, span.GetStatus().GetCode())
		require.Equal(t, "contended", attributes(span.GetAttributes())["error.type"])
	}
	for _, word := range private {
		require.NotContains(t, c.text(t), word)
	}
}

// TestNoTraces: nothing is sent unless somebody asks for it.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	for name, variables := range map[string][]string{
		"no endpoint": {"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_SERVICE_NAME=tombola"},
		"disabled":    {"OTEL_SDK_DISABLED=true"},
		"no exporter": {"OTEL_TRACES_EXPORTER=none"},
		"unknown":     {"OTEL_TRACES_EXPORTER=pigeon"},
		"not sampled": {"OTEL_TRACES_SAMPLER=always_off"},
	} {
		c := startCollector(t)
		s := spring(t, stocktest.URL(t, "sqlite")).tracedTo(c.http, variables...).start("--log-level", "debug")
		drawsNamed(t, s.service, 5, 200)
		s.endsWell()
		require.Empty(t, c.spans(), name)
		require.Equal(t, name == "not sampled", strings.Contains(s.stderr.String(), "tracing is on"), name)
		require.Equal(t, name == "not sampled", requestLine(s.service, "/draw")["trace_id"] != nil, name)
		require.Equal(t, name == "unknown", strings.Contains(s.stderr.String(), "tracing is off"), name)
	}
}

// TestCollectorAway: a collector that refuses, or never answers, costs draws
// nothing and the log a line.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() // it accepts, and says nothing
	for _, endpoint := range []string{"http://" + servertest.FreeAddr(t), "http://" + silent.Addr().String()} {
		s := spring(t, stocktest.URL(t, "sqlite")).tracedTo(endpoint, "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=16",
			"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=4", "OTEL_BSP_EXPORT_TIMEOUT=200").start()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 9 {
					if status, body, err := s.draw("spring", "u1", ""); err != nil || status != 200 {
						t.Errorf("%d %s %v", status, body, err)
					}
				}
			})
		}
		all.Wait()
		require.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), "traces are not sent") }, 20*time.Second, 10*time.Millisecond)
		code, took := s.signal(os.Interrupt)
		require.Equal(t, exitOK, code)
		require.Less(t, took, stopMax)
		require.LessOrEqual(t, strings.Count(s.stderr.String(), "traces are not sent"), 1+int(commandMax/time.Minute))
	}
}
