package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"drawsvc/internal/stock/stocktest"
)

// TestLastTraces: traces that are still unsent when the service exits are sent. If that
// takes too long on a slow machine, the log reports that they are lost.
func TestLastTraces(t *testing.T) {
	t.Parallel()
	for ends, sent := 0, false; !sent; ends++ {
		require.Less(t, ends, 5, "they are lost each time")
		c := startCollector(t)
		s := spring(t, stocktest.Migrated(t, "sqlite")).tracedTo(c.http, "OTEL_BSP_SCHEDULE_DELAY=3600000").start()
		s.won("spring", "u1", "")
		require.Empty(t, c.spans(), "they wait for the end")
		s.endsWell()
		if sent = !strings.Contains(s.stderr.String(), "the last traces are lost"); sent {
			require.NoError(t, wellTraced(c.spans(), 1))
		}
	}
}

// TestTraceOfAFailedBatch: the log line about the batch names its trace, which shows why
// the batch's transactions were repeated.
func TestTraceOfAFailedBatch(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	url := stocktest.Migrated(t, "postgres")
	// A batch has two attempts, so that it ends long before its draws time out.
	s := spring(t, url).tracedTo(c.http).start("--mode", "optimistic", "--optimistic-tries", "2")
	tx, err := rows(t, url).BeginTx(context.Background(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), `SELECT id FROM pools WHERE id = 'spring' FOR UPDATE`)
	require.NoError(t, err)
	const draws = 20
	drawsNamed(t, s.service, draws, 503)
	c.receives(t, func(all spans) error {
		n, batches, lines := len(all.named("POST /draw")), len(all.named("batch")), len(givenUp(s.service))
		if n != draws || lines == 0 || batches < lines {
			return fmt.Errorf("%d draws, %d batches and %d lines of the log are there", n, batches, lines)
		}
		return nil
	})
	s.endsWell()
	all, lines := c.spans(), givenUp(s.service)
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
