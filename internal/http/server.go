package http

import (
	"context"
	"crypto/tls"
	"errors"
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

// ConnectionsUsual is the maximum number of connections if the Config has none.
const ConnectionsUsual = 4096

// Config holds the settings and dependencies of a Server. All interfaces and functions
// must be set, except Progress and those whose comment gives nil a meaning. So must
// Tokens, RequestTimeout and Log.
type Config struct {
	gate.Access
	Limits
	Store   Store
	Drawer  Drawer
	Watcher Watcher
	// Tickets reads the tickets of draws.
	Tickets Tickets
	// WakeJobs makes this instance look for requested runs of jobs.
	WakeJobs func()
	// HookSender sends tests of hooks; nil means a sender that reaches no private network.
	HookSender HookSender
	// Catalogue returns the catalogue's items, by the ids of prizes.
	Catalogue func() map[string]catalogue.Item
	// Progress, if it is set, is called with the progress of an import.
	Progress func(done, total int)
	// OperatorName stands in place of drawsvc on the pages; "" for none.
	OperatorName string
	// Modes are the lock modes that a pool may name.
	Modes []string
	// TLS, if it is set, makes the service use HTTPS.
	TLS *tls.Config
	// Ready returns an error unless the store, its schema and the lock service answer.
	// A *draw.Error chooses the problem shown; its cause is logged.
	Ready func(ctx context.Context) error
	Log   *slog.Logger
	// Tracer begins the spans of requests, and Propagator reads the caller's span from
	// the headers; both are nil while tracing is off.
	Tracer     trace.Tracer
	Propagator propagation.TextMapPropagator
	// Registerer registers the metrics of this package; Gatherer is the source of
	// /metrics.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

// Limits is the part of a Config that limits calls.
type Limits struct {
	// RequestTimeout is the timeout of a call, except an audit and the export of
	// awards.
	RequestTimeout time.Duration
	// ShutdownDelay is how long Serve answers draws as usual after its context has
	// ended, while /readyz reports that it drains.
	ShutdownDelay time.Duration
	// ConnectionsMax is the maximum number of connections of Serve; 0 means 4096.
	ConnectionsMax int
	// Unbounded removes the limits of bodies and files, for a server whose callers are
	// all in this process.
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
	case c.RequestTimeout <= 0:
		return errors.New("http: the request timeout must be above 0")
	}
	return nil
}

// Server answers the calls. It serves once: after Serve has returned, or while it
// drains, new draws are refused.
type Server struct {
	Config
	engine *gin.Engine
	// handler is the engine, or in tests a handler that checks its answers.
	handler  nethttp.Handler
	gate     *gate.Gate
	refusals *refusals
	ids      ids
	problems map[draw.Code]problem.Problem
	metrics  metrics
	limits   limits
	bounds   gate.Bounds
	// feedPoll is the read of the feed's head that all calls waiting for awards share.
	feedPoll feedPoll
	// copies, odds and fair keep the answers that show pools, their odds, and the facts of
	// their pages of fairness.
	copies, odds, fair *packed.Cache
	connections        *conns.Set
	readiness          *readiness
	// draining means that the service is shutting down.
	draining atomic.Bool
	// streaming ends, by endStreams, when the service begins to shut down, so that
	// listeners connect to another instance.
	streaming  context.Context
	endStreams context.CancelFunc
	strict     json.Options
	headers    headers
	// buffers contains *[]byte, for bodies and answers.
	buffers sync.Pool
	// gzips contains *gzip.Writer.
	gzips sync.Pool
}

// headers contains the values of headers that most answers have, created once.
type headers struct{ noStore, noSniff, json, onlyTLS []string }
