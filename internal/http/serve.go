package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/hook"
	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/packed"
	"drawsvc/internal/http/problem"
	"drawsvc/internal/periodic"
)

// Serve answers on l until ctx ends. Then /readyz answers 503, and draws continue for
// ShutdownDelay. After that, new draws are rejected, and requests under way finish. It
// returns nil within 15 s after the delay. Requests that have not finished by then are
// cut off, which is logged. It closes l and may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	// Requests do not end with ctx: they get time to finish.
	requests := context.WithoutCancel(ctx)
	server := s.newServer(requests, s.handler, s.connections)
	l = conns.Listen(l, s.connections)
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
func (s *Server) newServer(requests context.Context, h nethttp.Handler, c *conns.Set) *nethttp.Server {
	return &nethttp.Server{
		Handler:           h,
		ReadHeaderTimeout: s.limits.header,
		ReadTimeout:       s.limits.read,
		WriteTimeout:      s.limits.write,
		IdleTimeout:       s.limits.idle,
		MaxHeaderBytes:    headerBytesMax,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       conns.With,
		ConnState:         c.Changed,
		// OPTIONS * is answered like any other path, with the headers of every answer.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}

// probeConnectionsMax is the maximum number of connections of the listener for probes.
const probeConnectionsMax = 32

// ServeProbes answers /metrics, /livez and /readyz on l until ctx ends, without a
// token. It closes l and may be called once.
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
	probes := conns.New(probeConnectionsMax, s.gate.IsShared, s.Log, s.metrics.reclaimed)
	server := s.newServer(context.WithoutCancel(ctx), engine, probes)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scrape that is cut off is repeated
	defer stop()
	if err := server.Serve(conns.Listen(l, probes)); !errors.Is(err, nethttp.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// delay gives load balancers time to notice that this instance drains, while it still
// answers.
func (s *Server) delay() {
	s.draining.Store(true)
	s.endStreams()
	if s.ShutdownDelay > 0 {
		s.Log.Info("shutting down: not ready any more, draws go on for the delay", "delay", s.ShutdownDelay.String())
		time.Sleep(s.ShutdownDelay)
	}
}

// drain keeps the listener open until the last draw is decided, so that new callers and
// load balancers get the reason why they are rejected. Shutdown then waits for the
// answers.
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
		s.connections.Cut()
		_ = server.Close() // ends the connections and with them the contexts of their requests
	}
}

// New returns a Server, or an error if the Config is invalid or its metrics are already
// registered.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.HookSender == nil {
		c.HookSender = hook.NewSender(hook.NewDialer(nil), "")
	}
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Config:    c,
		gate:      gate.New(&c.Access, m.refused),
		refusals:  newRefusals(c.Log),
		ids:       newIDs(),
		problems:  problem.Table(),
		metrics:   m,
		limits:    defaultLimits(c.RequestTimeout),
		bounds:    gate.NewBounds(cmp.Or(c.ConnectionsMax, ConnectionsUsual)),
		readiness: newReadiness(c.Ready),
		strict:    json.JoinOptions(json.RejectUnknownMembers(true)),
		headers:   headers{[]string{"no-store"}, []string{"nosniff"}, []string{"application/json"}, []string{"max-age=31536000"}},
		buffers:   sync.Pool{New: func() any { b := make([]byte, 0, bufferSize); return &b }},
		gzips:     sync.Pool{New: packed.NewCompressor},
	}
	s.streaming, s.endStreams = context.WithCancel(context.Background())
	s.copies, s.odds, s.fair = packed.NewCache(s.encodePool), packed.NewCache(s.encodeOdds), packed.NewCache(s.encodeFair)
	s.connections = conns.New(cmp.Or(c.ConnectionsMax, ConnectionsUsual), s.gate.IsShared, c.Log, m.reclaimed)
	if err := s.connections.Register(c.Registerer); err != nil {
		return nil, err
	}
	s.engine, err = s.newEngine(s.routes())
	s.handler = s.engine
	return s, err
}

// Handler returns the handler of all calls, for the caller's own server.
func (s *Server) Handler() nethttp.Handler { return s.handler }
