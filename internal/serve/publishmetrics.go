package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"drawsvc/internal/setting"
)

// ServeMetrics serves /metrics and /livez on an address, until end is called.
func ServeMetrics(ctx context.Context, address string, registry *prometheus.Registry, log *slog.Logger) (end func(), err error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, setting.AsUsage(fmt.Errorf("--metrics-listen must be HOST:PORT: %w", err))
	}
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }) // a probe that is cut off is repeated
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	log.Info("listening for metrics", "metrics_address", l.Addr().String())
	return func() {
		_ = server.Close() // a scrape that is cut off is repeated
		<-ended
	}, nil
}
