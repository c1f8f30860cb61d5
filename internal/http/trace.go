package http

import (
	"cmp"
	nethttp "net/http"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
)

// poolKey and outcomeKey are the service's own attributes: the pool of a call, and its
// outcome as the metrics and problems name it.
const (
	poolKey    = attribute.Key("drawsvc.pool")
	outcomeKey = attribute.Key("drawsvc.outcome")
)

// beginSpan begins the request's span below its caller's. It names the route, never the
// path, the query, a header or the caller's address, because a path may contain keys and
// users. The usual tracing libraries would name all of them.
func (s *Server) beginSpan(of *route, g *gin.Context) {
	r := g.Request
	method := boundedMethod(r.Method)
	name := method
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	attributes := []attribute.KeyValue{semconv.URLScheme(scheme), semconv.NetworkProtocolVersion(protocolVersion(r))}
	if method == methodOther {
		name = "HTTP" // as the conventions require
		attributes = append(attributes, semconv.HTTPRequestMethodOther)
	} else {
		attributes = append(attributes, semconv.HTTPRequestMethodKey.String(method))
	}
	if of.path != unmatched {
		name += " " + of.path
		attributes = append(attributes, semconv.HTTPRoute(of.path))
	}
	ctx := r.Context()
	if s.Propagator != nil {
		ctx = s.Propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, _ = s.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
	g.Request = r.WithContext(ctx)
}

func protocolVersion(r *nethttp.Request) string {
	switch {
	case r.ProtoMajor == 2:
		return "2"
	case r.ProtoMinor == 0:
		return "1.0"
	}
	return "1.1"
}

// traced reports whether the calls of a route have spans. Probes have no spans, because
// they come every few seconds and show nothing. Streams have no spans either, because
// they last as long as a page listens.
func (s *Server) traced(of *route) bool { return s.Tracer != nil && !of.probes() && !of.streams() }

// span returns the request's span, nil if it is not recorded.
func (c call) span() trace.Span {
	if c.server.Tracer == nil {
		return nil
	}
	if span := trace.SpanFromContext(c.gin.Request.Context()); span.IsRecording() {
		return span
	}
	return nil
}

// spanPool records the pool of a call, which was checked.
func (c call) spanPool(id string) {
	if span := c.span(); span != nil {
		span.SetAttributes(poolKey.String(id))
	}
}

// spanDraw records the result of a decided draw.
func (c call) spanDraw(made *draw.Draw) {
	span := c.span()
	if span == nil {
		return
	}
	outcome := "won"
	switch {
	case made.Replayed:
		outcome = "replayed"
	case !made.Wins():
		outcome = "blank"
	}
	span.SetAttributes(outcomeKey.String(outcome))
}

// endSpan ends the request's span. cause is nil if the request succeeded; cut means
// that the connection is cut.
func (c call) endSpan(status int, cause error, cut bool) {
	span := c.span()
	if span == nil {
		return
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	code := ""
	if cause != nil {
		code = string(draw.CodeOf(cause))
		span.SetAttributes(outcomeKey.String(code))
	}
	if cut {
		code = cmp.Or(code, "cut-off")
	}
	if cut || status >= nethttp.StatusInternalServerError {
		span.SetAttributes(semconv.ErrorTypeKey.String(code))
		span.SetStatus(codes.Error, code)
	}
	span.End()
}
