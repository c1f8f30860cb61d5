package cli

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"drawsvc/internal/stock/stocktest"
)

// tracedTo returns the program with further variables, which make it send traces soon.
func (p program) tracedTo(endpoint string, variables ...string) program {
	vars := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "100"}
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

// endsWell ends a service, which must exit cleanly and in time.
func (s *process) endsWell() {
	s.tb.Helper()
	code, took := s.signal(syscall.SIGTERM)
	require.Equal(s.tb, exitOK, code, s.stderr.String())
	require.Less(s.tb, took, stopMax)
}

// receives waits until the collector has the traces that a test expects.
func (c *collector) receives(t *testing.T, has func(all spans) error) {
	t.Helper()
	var lacks error
	for begun := time.Now(); time.Since(begun) < commandMax; time.Sleep(10 * time.Millisecond) {
		if lacks = has(c.spans()); lacks == nil {
			return
		}
	}
	require.NoError(t, lacks)
}

// wellTracedDraws returns the expectations of a test in which every draw has won.
func wellTracedDraws(draws int) func(all spans) error {
	return func(all spans) error { return wellTraced(all, draws) }
}

// private are words that no trace may contain.
var private = []string{"secret-user", "secret-key", "secret-token", "secret-query"}

// wellTraced returns the faults in the traces of won draws, each in its own request.
func wellTraced(all spans, draws int) error {
	requests := all.named("POST /draw")
	if len(requests) != draws {
		return fmt.Errorf("%d draws have %d spans", draws, len(requests))
	}
	taken := 0
	for _, batch := range all.named("batch") {
		a := attributes(batch.GetAttributes())
		if fmt.Sprint(len(batch.GetLinks())) != a["drawsvc.draws"] || a["drawsvc.mode"] == "" {
			return fmt.Errorf("a batch with %d links says %v", len(batch.GetLinks()), a)
		}
		taken += len(batch.GetLinks())
		first := all.by(batch.GetParentSpanId())
		if first == nil || !links(batch, first) || poolIn(first) != poolIn(batch) {
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

// wellFollowed returns the faults in the traces of one draw.
func wellFollowed(all spans, request *tracepb.Span) error {
	a := attributes(request.GetAttributes())
	for name, want := range map[string]string{
		"http.request.method": "POST", "http.route": "/draw", "http.response.status_code": "200", "url.scheme": "http",
		"drawsvc.outcome": "won",
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
	case batch == nil || batch.GetName() != "batch" || poolIn(batch) == "" || poolIn(batch) != poolIn(request) || !links(waits[0], batch) || !links(batch, request):
		return errors.New("a draw and its batch have no links to each other")
	case waits[0].GetEndTimeUnixNano() > batch.GetEndTimeUnixNano():
		return errors.New("a draw waits when its batch has ended")
	}
	return nil
}

// TestTraceOfADraw: request, wait, batch and transaction are spans of one trace, that of
// the caller. The log and the metrics name it, and it contains nothing private.
func TestTraceOfADraw(t *testing.T) {
	t.Parallel()
	const caller = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		c := startCollector(t)
		endpoint := map[string]string{"http/protobuf": c.http, "grpc": c.grpc}[protocol]
		s := spring(t, stocktest.Migrated(t, "sqlite")).tracedTo(endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
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
		c.receives(t, func(all spans) error {
			if len(all.named("GET /pools/:pool/draws/:draw")) == 0 {
				return errors.New("the last one is not there")
			}
			return wellTraced(all, 1)
		})
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

// requestLine returns the first line of the log about a request on the route.
func requestLine(s *service, route string) map[string]any {
	for _, line := range s.log() {
		if line["msg"] == "request" && line["route"] == route {
			return line
		}
	}
	return nil
}

// TestTracesOfABatch: each batch has links to all of its draws, and they have links to
// the batch.
func TestTracesOfABatch(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	s := spring(t, stocktest.Migrated(t, "sqlite")).tracedTo(c.http).start()
	drawsNamed(t, s.service, 90, 200)
	c.receives(t, wellTracedDraws(90))
	s.endsWell()
	all := c.spans()
	require.NoError(t, wellTraced(all, 90))
	require.Less(t, len(all.named("batch")), 90, "some draws were decided together")
	require.NotContains(t, c.text(t), "secret-user")

	// The broken doubles are traces with one fault each.
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

// TestTracesOfSharedTransactions: a transaction of several pools is in the trace of each
// of their batches. If the transaction leaves a batch out, its span in that batch's
// trace states that.
func TestTracesOfSharedTransactions(t *testing.T) {
	t.Parallel()
	const pools, draws = 20, 8
	c := startCollector(t)
	p := on(t, stocktest.Migrated(t, "postgres"))
	p.ok("migrate", "up")
	s := p.tracedTo(c.http).start("--admin-token", "token-of-an-admin-0123456789abcdef")
	s.token = "token-of-an-admin-0123456789abcdef"
	for i := range pools {
		s.admin(201, "POST", "/admin/pools", fmt.Sprintf(`{"id":"pool-%d","name":"Pool","prizes":[{"id":"tin","name":"Tin","stock":100}]}`, i))
	}
	var all sync.WaitGroup
	for i := range pools * draws {
		all.Go(func() {
			status, body, err := s.draw(fmt.Sprint("pool-", i%pools), "u1", "")
			if err != nil || status != 200 {
				t.Errorf("%d %s %v", status, body, err)
			}
		})
	}
	all.Wait()
	c.receives(t, wellTracedDraws(pools*draws))
	s.endsWell()
	require.NoError(t, wellTraced(c.spans(), pools*draws))
	for _, batch := range c.spans().named("batch") {
		done := 0
		for _, transaction := range c.spans().below(batch) {
			if transaction.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_UNSET {
				done++
			}
		}
		require.Equal(t, 1, done, "one transaction decided the batch")
	}
}
