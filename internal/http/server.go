package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/access"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/packed"
	"drawsvc/internal/http/problem"
)

// ConnectionsUsual is the most connections where the Config names none.
const ConnectionsUsual = 4096

// Config is what a Server needs. Store, Drawer, all interfaces and functions, Tokens, Request, Log, Registerer and
// Gatherer must be given, save Progress and those of a nil that says so.
type Config struct {
	gate.Access
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
	case c.ReadsMax != 0 && c.ReadsMax < gate.ReadsUsual:
		return fmt.Errorf("http: the most reads must be %d or more", gate.ReadsUsual)
	case c.RequestTimeout <= 0:
		return errors.New("http: the request timeout must be above 0")
	}
	return nil
}

// Server answers the calls. It serves once: after Serve has returned, or
// while it drains, new draws are refused.
type Server struct {
	Config
	engine *gin.Engine
	// handler is the engine, or in tests what checks its answers.
	handler  nethttp.Handler
	gate     *gate.Gate
	refusals *refusals
	ids      ids
	problems map[draw.Code]problem.Problem
	metrics  metrics
	limits   limits
	bounds   gate.Bounds
	// copies are of pools, odds of their odds.
	copies, odds *packed.Cache
	connections  *conns.Set
	readiness    *readiness
	// draining says that the service is shutting down.
	draining atomic.Bool
	// streaming ends, by endStreams, when the service begins to shut down:
	// whoever listens finds another instance.
	streaming  context.Context
	endStreams context.CancelFunc
	strict     json.Options
	headers    headers
	// buffers holds *[]byte, for bodies and answers.
	buffers sync.Pool
	// gzips holds *gzip.Writer.
	gzips sync.Pool
}

// headers holds the values of headers that most answers have, made once.
type headers struct{ noStore, noSniff, json, onlyTLS []string }
