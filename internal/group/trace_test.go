package group

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// TestUntracedIsFree: without a tracer, no step of a draw allocates memory for traces.
// The control has a tracer.
func TestUntracedIsFree(t *testing.T) {
	provider := sdktrace.NewTracerProvider()
	ctx, span := provider.Tracer("").Start(t.Context(), "request")
	defer span.End()
	for _, tracer := range []trace.Tracer{nil, provider.Tracer("")} {
		b := NewBatcher(nil, &watcher{}, Limits{})
		b.Trace(tracer)
		q := newQueue(b, "p")
		w := &waiter{Ask: urn.Ask{Request: named("x")}}
		q.batch.fill([]*waiter{w})
		began := time.Now()
		allocated := testing.AllocsPerRun(100, func() {
			b.follow(ctx, w)
			q.batch.follow(0)
			_ = q.batch.Context()
			q.batch.Attempted(began, "version", true)
			q.batch.endSpan()
			w.leave()
		})
		require.Equal(t, tracer == nil, allocated == 0, "%v allocations", allocated)
	}
}

// TestTracedBatches: every recorded draw has one wait and a link to its batch, whatever
// its result is. Draws that are not recorded leave nothing.
func TestTracedBatches(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		recorded := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorded))
		tracer := provider.Tracer("")
		failures := 0
		l := newLedger(poolOf("p", 1000))
		l.goesOn = goesOn
		l.before = func(*urn.Plan) error {
			if failures++; failures == 3 {
				panic("a defect")
			}
			return nil
		}
		b, _ := newTestBatcher(t, l, Limits{BatchMax: 7})
		b.Trace(tracer)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				ctx := t.Context()
				if i%2 == 0 {
					request, span := tracer.Start(ctx, "request")
					defer span.End()
					ctx = request
				}
				_, err := b.Draw(ctx, named(fmt.Sprint("d", i)))
				if err != nil {
					code(t, draw.CodeInternal, err)
				}
			})
		}
		all.Wait()
		drain(t, b)
		require.Len(t, recorded.Started(), len(recorded.Ended()), "every span ends")
		count, linked := map[string]int{}, map[trace.SpanID]int{}
		for _, span := range recorded.Ended() {
			count[span.Name()]++
			if span.Name() == "batch" {
				for _, link := range span.Links() {
					linked[link.SpanContext.SpanID()]++
				}
			}
			if span.Name() == "queue" {
				require.Len(t, span.Links(), 1)
			}
		}
		require.Equal(t, 50, count["request"])
		require.Equal(t, 50, count["queue"])
		require.Len(t, linked, 50)
	}
}

// TestRefusedDrawsLeaveNoSpanOpen: a draw that no batch takes has waited too, and the
// span of its wait ends.
func TestRefusedDrawsLeaveNoSpanOpen(t *testing.T) {
	recorded := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorded)).Tracer("")
	b, _ := newTestBatcher(t, newLedger(poolOf("p", 1)), Limits{})
	b.Trace(tracer)
	require.NoError(t, b.Drain(t.Context()))
	ctx, span := tracer.Start(t.Context(), "request")
	_, err := b.Draw(ctx, named("x"))
	code(t, draw.CodeDraining, err)
	span.End()
	require.Len(t, recorded.Ended(), 2)
	require.Equal(t, "queue", recorded.Ended()[0].Name())
	require.Empty(t, recorded.Ended()[0].Links())
}
