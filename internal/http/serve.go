package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	nethttp "net/http"
	"time"

	"drawsvc/internal/periodic"
)

// limits bound the time and size of every connection.
type limits struct {
	header, read, write, idle time.Duration
	// draws is the longest wait for draws under way when the service ends,
	// rest the longest for everything else after them. Together they stay
	// below the 15 s that an operator is promised.
	draws, rest time.Duration
	// linger is how long what is left of a body is read after the answer.
	linger time.Duration
	// audit bounds an audit, page the sending of the first page of an export, and
	// pace is what each further page adds for those behind it.
	audit, page, pace time.Duration
}

// headerBytesMax bounds the request line and headers; net/http adds 4 KiB.
const headerBytesMax = 16 << 10

func defaultLimits(request time.Duration) limits {
	return limits{
		header: 5 * time.Second,
		read:   10 * time.Second,
		// The write timeout runs from the end of the headers: it spans the
		// body, the work and the answer.
		write:  request + 20*time.Second,
		idle:   2 * time.Minute,
		draws:  9500 * time.Millisecond,
		rest:   4 * time.Second,
		linger: 2 * time.Second,
		audit:  max(request, time.Minute),
		page:   30 * time.Second,
		pace:   2 * time.Second,
	}
}

// Serve answers on l until ctx ends. Then /readyz turns 503; after
// ShutdownDelay, in which draws go on, new draws are rejected and requests
// under way finish. It returns nil within 15 s of the delay's end, having cut
// off what had not finished by then and logged that. It closes l and is called
// once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	// Requests do not end with ctx: they get their time to finish.
	requests := context.WithoutCancel(ctx)
	server := s.newServer(requests, s.handler, s.connections)
	l = newListener(l, s.connections)
	if s.TLS != nil {
		l = tls.NewListener(l, s.TLS)
	}
	stop := periodic.Start(refusalsEvery, func(context.Context) { s.refusals.sumUp() })
	defer func() { stop(); s.refusals.sumUp() }()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	s.delay()
	s.drain(requests, server)
	if err := <-served; !errors.Is(err, nethttp.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// newServer returns a server with the limits of every connection.
func (s *Server) newServer(requests context.Context, h nethttp.Handler, c *connections) *nethttp.Server {
	return &nethttp.Server{
		Handler:           h,
		ReadHeaderTimeout: s.limits.header,
		ReadTimeout:       s.limits.read,
		WriteTimeout:      s.limits.write,
		IdleTimeout:       s.limits.idle,
		MaxHeaderBytes:    headerBytesMax,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       withConn,
		ConnState:         c.changed,
		// OPTIONS * is answered as any other path is, with the headers of every answer.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}

// ServeProbes answers /metrics, /livez and /readyz on l until ctx ends, and
// needs no token. It closes l and is called once.
func (s *Server) ServeProbes(ctx context.Context, l net.Listener) error {
	var table []route
	for _, r := range s.routes() {
		if r.probes() {
			r.role = roleNone
			table = append(table, r)
		}
	}
	engine, err := s.newEngine(table)
	if err != nil {
		return err
	}
	probes := newConnections(probeConnectionsMax, s.gate.isShared, s.Log, s.metrics.reclaimed)
	server := s.newServer(context.WithoutCancel(ctx), engine, probes)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scrape that is cut off is repeated
	defer stop()
	if err := server.Serve(newListener(l, probes)); !errors.Is(err, nethttp.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// delay lets load balancers learn that this instance drains, while it answers
// those that have not learnt it yet.
func (s *Server) delay() {
	s.draining.Store(true)
	s.endStreams()
	if s.ShutdownDelay > 0 {
		s.Log.Info("shutting down: not ready any more, draws go on for the delay", "delay", s.ShutdownDelay.String())
		time.Sleep(s.ShutdownDelay)
	}
}

// drain keeps the listener open until the last draw is decided, so that new
// callers and load balancers learn why they are rejected. Shutdown then
// waits for the answers.
func (s *Server) drain(ctx context.Context, server *nethttp.Server) {
	s.Log.Info("draining: draws under way finish, new ones are rejected")
	draws, cancel := context.WithTimeout(ctx, s.limits.draws)
	defer cancel()
	if err := s.Drawer.Drain(draws); err != nil {
		s.Log.Warn("draws were still under way when their time to finish ended")
	}
	rest, cancel := context.WithTimeout(ctx, s.limits.rest)
	defer cancel()
	if err := server.Shutdown(rest); err != nil {
		s.Log.Warn("requests were cut off at the end of the drain", "error", err)
		s.connections.cut()
		_ = server.Close() // ends the connections and with them the contexts of their requests
	}
}
