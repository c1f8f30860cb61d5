package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/access"
	"drawsvc/internal/catalogue"
)

// Config is what a Server needs. Store, Drawer, all interfaces and functions, Tokens, Request, Log, Registerer and
// Gatherer must be given, save Progress and those of a nil that says so.
type Config struct {
	Access
	Limits
	Store   Store
	Drawer  Drawer
	Watcher Watcher
	// Tickets reads the tickets of draws.
	Tickets Tickets
	// WakeJobs makes this instance look for a job that was asked for.
	WakeJobs func()
	// Catalogue returns what the catalogue says of prizes, by their ids.
	Catalogue func() map[string]catalogue.Item
	// Progress, where it is given, learns how far an import is.
	Progress func(done, total int)
	// Modes are the lock modes that a pool may name.
	Modes []string
	// TLS, where it is given, makes the service speak HTTPS.
	TLS *tls.Config
	// Ready reports whether the store, its schema and the lock service answer. A
	// *draw.Error chooses the problem shown; its cause goes to the log.
	Ready func(ctx context.Context) error
	Log   *slog.Logger
	// Tracer begins the spans of requests, and Propagator reads the caller's span
	// from the headers; both are nil while tracing is off.
	Tracer     trace.Tracer
	Propagator propagation.TextMapPropagator
	// Registerer takes the metrics of this package; Gatherer is what /metrics
	// shows.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

// Access is the part of a Config that says who may call.
type Access struct {
	// Tokens are those that open calls.
	Tokens *access.Keeper
	// Actor, where it is given, is recorded with each change in place of the token's
	// name: all callers are one person of this machine.
	Actor string
	// PublicDraw opens drawing and reading to anyone, from anywhere, until
	// Tokens have held one of role draw.
	PublicDraw bool
	// DemoDraw does so too, except to pages of other sites in a browser.
	DemoDraw bool
	// AllowedHosts are names of the service beside those of loopback, for
	// DemoDraw.
	AllowedHosts []string
	// TrustedProxies are the addresses whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// ClientCAs, where it is given, returns the authorities of the moment: admin
	// calls need a client certificate of one of them.
	ClientCAs func() *x509.CertPool
}

// Limits is the part of a Config that bounds calls.
type Limits struct {
	// RequestTimeout is the longest that a call may work, save an audit and
	// the export of awards.
	RequestTimeout time.Duration
	// ShutdownDelay is how long Serve answers draws as usual after its
	// context has ended, while /readyz says that it drains.
	ShutdownDelay time.Duration
	// ConnectionsMax is the maximum number of connections of Serve; 0 means 4096.
	ConnectionsMax int
	// ReadsMax is how many calls read the database at once, beside the draws: its
	// connections for reads. 0 means 5, which is the minimum.
	ReadsMax int
	// Unbounded lifts the bounds of bodies and files: all callers are of this process.
	Unbounded bool
}

func (c *Config) check() error {
	switch {
	case c.Store == nil || c.Drawer == nil || c.Watcher == nil || c.Tickets == nil || c.WakeJobs == nil || c.Catalogue == nil:
		return errors.New("http: store, drawer, watcher, tickets, wake and catalogue must be given")
	case c.Ready == nil || c.Log == nil || c.Registerer == nil || c.Gatherer == nil:
		return errors.New("http: ready, log, registerer and gatherer must be given")
	case c.Tokens == nil || !c.Tokens.Set().Has(access.Admin):
		return errors.New("http: tokens must be given, and hold one of role admin")
	case c.ConnectionsMax < 0:
		return errors.New("http: the most connections must not be below 0")
	case c.ReadsMax != 0 && c.ReadsMax < readsUsual:
		return fmt.Errorf("http: the most reads must be %d or more", readsUsual)
	case c.RequestTimeout <= 0:
		return errors.New("http: the request timeout must be above 0")
	}
	return nil
}

// New returns a Server, or an error when the Config cannot work or its
// metrics are registered already.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Config:    c,
		gate:      newGate(&c, m),
		refusals:  newRefusals(c.Log),
		ids:       newIDs(),
		problems:  problems(),
		metrics:   m,
		limits:    defaultLimits(c.RequestTimeout),
		bounds:    newBounds(cmp.Or(c.ConnectionsMax, ConnectionsUsual), cmp.Or(c.ReadsMax, readsUsual)),
		readiness: newReadiness(c.Ready),
		strict:    json.JoinOptions(json.RejectUnknownMembers(true)),
		headers:   headers{[]string{"no-store"}, []string{"nosniff"}, []string{"application/json"}, []string{"max-age=31536000"}},
		buffers:   sync.Pool{New: func() any { b := make([]byte, 0, bufferSize); return &b }},
		gzips:     sync.Pool{New: newGzip},
	}
	s.streaming, s.endStreams = context.WithCancel(context.Background())
	s.copies, s.odds = newCopies(s.encodePool), newCopies(s.encodeOdds)
	s.connections = newConnections(cmp.Or(c.ConnectionsMax, ConnectionsUsual), s.gate.isShared, c.Log, m.reclaimed)
	if err := s.connections.register(c.Registerer); err != nil {
		return nil, err
	}
	s.engine, err = s.newEngine(s.routes())
	s.handler = s.engine
	return s, err
}

// Handler returns the handler of all calls, for a server of the caller's own.
func (s *Server) Handler() nethttp.Handler { return s.handler }
