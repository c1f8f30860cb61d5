package cli

import (
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestNoTraces: nothing is sent unless it is configured.
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
		s := spring(t, stocktest.Migrated(t, "sqlite")).tracedTo(c.http, variables...).start("--log-level", "debug")
		drawsNamed(t, s.service, 5, 200)
		s.endsWell()
		require.Empty(t, c.spans(), name)
		require.Equal(t, name == "not sampled", strings.Contains(s.stderr.String(), "tracing is on"), name)
		require.Equal(t, name == "not sampled", requestLine(s.service, "/draw")["trace_id"] != nil, name)
		require.Equal(t, name == "unknown", strings.Contains(s.stderr.String(), "tracing is off"), name)
	}
}

// TestCollectorAway: a collector that refuses, or never answers, does not affect draws,
// and is logged in one line.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() // it accepts, and sends nothing
	for _, endpoint := range []string{"http://" + servertest.ClosedAddr(t), "http://" + silent.Addr().String()} {
		s := spring(t, stocktest.Migrated(t, "sqlite")).tracedTo(endpoint, "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=16",
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
		require.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), "traces are not sent") }, commandMax, 10*time.Millisecond)
		code, took := s.signal(os.Interrupt)
		require.Equal(t, exitOK, code)
		require.Less(t, took, stopMax)
		require.LessOrEqual(t, strings.Count(s.stderr.String(), "traces are not sent"), 1+int(commandMax/time.Minute))
	}
}
