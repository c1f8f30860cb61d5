package group

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
)

// Trace makes the tracer t trace the batches of draws whose context has a recorded span.
// If it is called, it must be called before the first draw. nil traces none.
func (b *Batcher) Trace(t trace.Tracer) { b.tracer = t }

// followed has the spans of a draw that is traced.
type followed struct {
	// request is the span that the draw belongs to.
	request trace.SpanContext
	// queue is the span of its wait, which ends when a batch takes the draw.
	queue trace.Span
}

// follow begins the span of a draw's wait if the draw is traced.
func (b *Batcher) follow(ctx context.Context, w *waiter) {
	if b.tracer == nil {
		return
	}
	request := trace.SpanContextFromContext(ctx)
	if !request.IsSampled() {
		return
	}
	_, queue := b.tracer.Start(ctx, "queue", ofPool(w.PoolID))
	w.followed = &followed{request, queue}
}

// leave ends the wait of a draw that no batch has taken.
func (w *waiter) leave() {
	if w.followed != nil {
		w.followed.queue.End() // it usually was ended before, and then this does nothing
	}
}

// follow links the batch with the draws that it has taken, from the given index on. The
// batch is a child of the first of them, so that a single draw is one trace. It is
// recorded if that draw is.
func (b *Batch) follow(from int) {
	tracer := b.queue.batcher.tracer
	if tracer == nil {
		return
	}
	for _, w := range b.waiters[from:] {
		if w.followed == nil {
			continue
		}
		link := trace.Link{SpanContext: w.followed.request}
		if b.span == nil {
			parent := trace.ContextWithSpanContext(context.Background(), w.followed.request)
			_, b.span = tracer.Start(parent, "batch", trace.WithLinks(link), ofPool(w.PoolID))
		} else {
			b.span.AddLink(link)
		}
		w.followed.queue.AddLink(trace.Link{SpanContext: b.span.SpanContext()})
		w.followed.queue.End()
	}
}

// Context returns a context with the batch's span, if it has one, for calls of the log.
func (b *Batch) Context() context.Context {
	if b.span == nil {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), b.span)
}

// Attempted records the end of one attempt at the batch, which is a transaction. began is
// when it began. failure is why it failed, "" if it did not. again means that another
// attempt follows.
func (b *Batch) Attempted(began time.Time, failure string, again bool) {
	if b.span == nil {
		return
	}
	b.attempts++
	_, span := b.queue.batcher.tracer.Start(b.Context(), "transaction", trace.WithTimestamp(began),
		trace.WithAttributes(attribute.Int("drawsvc.attempt", b.attempts)))
	if failure != "" {
		span.SetStatus(codes.Error, failure)
	}
	if again {
		span.SetAttributes(attribute.String("drawsvc.retry.reason", failure))
	}
	span.End()
}

// spanFails records in the batch's span why its draws failed. It records only the code,
// because errors may contain keys.
func (b *Batch) spanFails(err error) {
	if b.span != nil {
		b.span.SetStatus(codes.Error, string(draw.CodeOf(err)))
	}
}

// endSpan ends the span of a settled batch.
func (b *Batch) endSpan() {
	if b.span == nil {
		return
	}
	b.span.SetAttributes(attribute.String("drawsvc.mode", b.Mode()),
		attribute.Int("drawsvc.draws", len(b.waiters)), attribute.Int("drawsvc.attempts", b.attempts))
	b.span.End()
	b.span, b.attempts = nil, 0
}

func ofPool(id string) trace.SpanStartEventOption {
	return trace.WithAttributes(attribute.String("drawsvc.pool", id))
}
