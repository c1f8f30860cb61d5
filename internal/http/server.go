package http

import (
	"context"
	"errors"
	"log/slog"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"drawsvc/internal/draw"
)

// Drawer decides draws. It has a deadline of its own and returns *draw.Error.
type Drawer interface {
	Draw(ctx context.Context, r draw.Request) (draw.Draw, error)
}

// Reader answers what those who draw may read.
type Reader interface {
	Pool(ctx context.Context, poolID string) (draw.Pool, error)
	Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error)
}

// Pools makes, lists and changes pools.
type Pools interface {
	CreatePool(ctx context.Context, p draw.Pool) (draw.Pool, error)
	Pools(ctx context.Context) ([]draw.Pool, error)
	ChangePool(ctx context.Context, poolID string, change draw.PoolChange) (draw.Pool, error)
}

// Stocker adds prizes and moves stock.
type Stocker interface {
	AddPrize(ctx context.Context, poolID string, p draw.Prize) (draw.Prize, error)
	Stock(ctx context.Context, s draw.Stocking) (draw.Move, error)
}

// History reads a pool's log. Awards and Moves return at most limit entries
// with a version above after, in order of version.
type History interface {
	Awards(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error)
	Moves(ctx context.Context, poolID string, after int64, limit int) ([]draw.Move, error)
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

// Config is what a Server needs. All interfaces, AdminToken, RequestTimeout,
// Ready, Log, Registerer and Gatherer must be given.
type Config struct {
	Drawer  Drawer
	Reader  Reader
	Pools   Pools
	Stocker Stocker
	History History
	// Modes are the lock modes that a pool may name.
	Modes []string
	// AdminToken opens every call.
	AdminToken string
	// DrawToken opens drawing and reading; "" opens them to anyone.
	DrawToken string
	// OpenMetrics shows /metrics to anyone.
	OpenMetrics bool
	// RequestTimeout is the longest that a call may work, save an audit and
	// the export of awards.
	RequestTimeout time.Duration
	// Ready says whether the store, its schema and the lock service answer. A
	// *draw.Error chooses the problem shown; its cause goes to the log.
	Ready func(ctx context.Context) error
	Log   *slog.Logger
	// Registerer takes the metrics of this package; Gatherer is what /metrics
	// shows.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

func (c *Config) check() error {
	switch {
	case c.Drawer == nil || c.Reader == nil || c.Pools == nil || c.Stocker == nil || c.History == nil:
		return errors.New("http: drawer, reader, pools, stocker and history must be given")
	case c.Ready == nil || c.Log == nil || c.Registerer == nil || c.Gatherer == nil:
		return errors.New("http: ready, log, registerer and gatherer must be given")
	case c.AdminToken == "":
		return errors.New("http: the admin token must not be empty")
	case c.AdminToken == c.DrawToken:
		return errors.New("http: the draw token must differ from the admin token")
	case c.RequestTimeout <= 0:
		return errors.New("http: the request timeout must be above 0")
	}
	return nil
}

// Server answers the calls. It serves once: after Serve has returned, or
// while it drains, new draws are refused.
type Server struct {
	Config
	engine   *gin.Engine
	tokens   tokens
	problems map[draw.Code]problem
	metrics  metrics
	limits   limits
	gate     gate
	strict   json.Options
	// buffers holds *[]byte, for bodies and answers.
	buffers sync.Pool
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
		Config:   c,
		tokens:   newTokens(c.AdminToken, c.DrawToken),
		problems: problems(),
		metrics:  m,
		limits:   defaultLimits(c.RequestTimeout),
		strict:   json.JoinOptions(json.RejectUnknownMembers(true)),
		buffers:  sync.Pool{New: func() any { b := make([]byte, 0, bufferSize); return &b }},
	}
	gin.SetMode(gin.ReleaseMode)
	s.engine = gin.New()
	if err := s.engine.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	s.route()
	return s, nil
}

// Handler returns the handler of all calls, for a server of the caller's own.
func (s *Server) Handler() nethttp.Handler { return s.engine }

func (s *Server) route() {
	e := s.engine
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	// Names of draws may hold anything printable, slashes too: routes are
	// matched on the path as it was sent, and its parts decoded afterwards.
	// gin would decode them as a query, with + for a space.
	e.UseEscapedPath = true
	e.UnescapePathValues = false
	e.NoRoute(s.observe(nethttp.MethodGet, unmatched), s.noRoute)
	e.NoMethod(s.observe(nethttp.MethodGet, unmatched), s.noMethod)

	s.handle("POST", "/draw", s.needDraw, s.postDraw)
	s.handle("GET", "/pools/:pool", s.needDraw, s.pool)
	s.handle("GET", "/pools/:pool/draws/:draw", s.needDraw, s.drawAgain)

	s.handle("POST", "/admin/pools", s.needAdmin, s.createPool)
	s.handle("GET", "/admin/pools", s.needAdmin, s.adminPools)
	s.handle("GET", "/admin/pools/:pool", s.needAdmin, s.adminPool)
	s.handle("PATCH", "/admin/pools/:pool", s.needAdmin, s.changePool)
	s.handle("POST", "/admin/pools/:pool/prizes", s.needAdmin, s.addPrize)
	s.handle("POST", "/admin/pools/:pool/prizes/:prize/stock", s.needAdmin, s.stock)
	s.handle("GET", "/admin/pools/:pool/awards", s.needAdmin, s.awards)
	s.handle("GET", "/admin/pools/:pool/moves", s.needAdmin, s.moves)
	s.handle("GET", "/admin/pools/:pool/audit", s.needAdmin, s.audit)

	s.handle("GET", "/livez", s.live)
	s.handle("HEAD", "/livez", s.live)
	s.handle("GET", "/readyz", s.ready)
	s.handle("HEAD", "/readyz", s.ready)
	s.handle("GET", "/metrics", s.needMetrics, s.showMetrics())
}

func (s *Server) handle(method, path string, handlers ...gin.HandlerFunc) {
	s.engine.Handle(method, path, append([]gin.HandlerFunc{s.observe(method, path)}, handlers...)...)
}
