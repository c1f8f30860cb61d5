package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// collector receives traces on loopback, by HTTP and by gRPC.
type collector struct {
	collect.UnimplementedTraceServiceServer
	http, grpc string // the endpoints of the collector

	mu       sync.Mutex
	received []*tracepb.ResourceSpans
	headers  []http.Header
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	var listening net.ListenConfig
	l, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	collect.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	c.http, c.grpc = web.URL, "http://"+l.Addr().String()
	return c
}

// ServeHTTP receives the spans of an exporter.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collect.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.headers = append(c.headers, r.Header)
	c.mu.Unlock()
	_, _ = c.Export(r.Context(), &sent)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export receives traces over gRPC.
func (c *collector) Export(_ context.Context, r *collect.ExportTraceServiceRequest) (*collect.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, r.GetResourceSpans()...)
	return &collect.ExportTraceServiceResponse{}, nil
}

// spans returns the spans that it has received.
func (c *collector) spans() (all spans) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range c.received {
		for _, scope := range resource.GetScopeSpans() {
			all = append(all, scope.GetSpans()...)
		}
	}
	return all
}

// text returns everything that was received, as one text.
func (c *collector) text(t *testing.T) (text string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range c.received {
		part, err := protojson.Marshal(resource)
		require.NoError(t, err)
		text += string(part)
	}
	return text
}

// resource returns the sender's description of itself.
func (c *collector) resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.received) == 0 {
		return nil
	}
	return attributes(c.received[0].GetResource().GetAttributes())
}

func attributes(all []*common.KeyValue) map[string]string {
	values := map[string]string{}
	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			values[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			values[a.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			values[a.GetKey()] = fmt.Sprint(v)
		}
	}
	return values
}

// spans are the spans of one service.
type spans []*tracepb.Span

func (all spans) named(name string) (found spans) {
	for _, s := range all {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	return found
}

func (all spans) by(id []byte) *tracepb.Span {
	for _, s := range all {
		if string(s.GetSpanId()) == string(id) {
			return s
		}
	}
	return nil
}

// below returns the spans whose parent is the given one.
func (all spans) below(parent *tracepb.Span) (found spans) {
	for _, s := range all {
		if string(s.GetParentSpanId()) == string(parent.GetSpanId()) {
			found = append(found, s)
		}
	}
	return found
}

// links reports whether a span has a link to the other.
func links(from, to *tracepb.Span) bool {
	for _, l := range from.GetLinks() {
		if string(l.GetSpanId()) == string(to.GetSpanId()) && string(l.GetTraceId()) == string(to.GetTraceId()) {
			return true
		}
	}
	return false
}

func traceID(s *tracepb.Span) string { return hex.EncodeToString(s.GetTraceId()) }
func spanID(s *tracepb.Span) string  { return hex.EncodeToString(s.GetSpanId()) }

func poolIn(s *tracepb.Span) string { return attributes(s.GetAttributes())["drawsvc.pool"] }
