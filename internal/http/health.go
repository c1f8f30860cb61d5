package http

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/semaphore"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// ClockKeeper accepts leaps of the database's clock.
type ClockKeeper interface {
	// AcceptClock accepts the clock as right, and returns by how much it had leapt.
	AcceptClock(ctx context.Context) (by time.Duration, err error)
}

// Condition reports what an instance cannot do, even if its database answers.
type Condition interface {
	// SeedsAway reports whether a committed pool cannot be drawn from here, because its
	// seed cannot be unsealed.
	SeedsAway() bool
	// HasUnreadable reports whether this binary cannot read some rules or planned items.
	HasUnreadable() bool
	// HasCodesAway reports whether a pool with codes cannot be drawn from here, because
	// its codes cannot be opened.
	HasCodesAway() bool
}

type healthAnswer struct {
	Status string `json:"status"`
	// Seeds is "unavailable" if a committed pool cannot be drawn from here.
	Seeds string `json:"seeds,omitempty"`
	// Codes is "unavailable" if a pool with codes cannot be drawn from here.
	Codes string `json:"codes,omitempty"`
	// Rules is "unreadable" if this binary cannot read the rules of a pool, or a
	// planned item.
	Rules string `json:"rules,omitempty"`
	// Tokens is "unreadable" if entries of the token file are ignored, because another
	// release wrote them.
	Tokens string `json:"tokens,omitempty"`
}

// live states only that the process answers, because an unavailable database is not a
// reason to restart the service.
func live(c call) error { return c.writeJSON(healthAnswer{Status: "live"}) }

// ready answers whether draws are accepted.
func (s *Server) ready(c call) error {
	if s.draining.Load() {
		return draw.Errorf(draw.CodeDraining, "the service is shutting down and takes no new draws")
	}
	ctx, cancel := c.within(readyMax)
	defer cancel()
	if err := s.readiness.ask(ctx); err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the service is not ready")
	}
	answer := healthAnswer{Status: "ready"}
	if s.Store.SeedsAway() {
		answer.Seeds = "unavailable"
	}
	if s.Store.HasCodesAway() {
		answer.Codes = "unavailable"
	}
	if s.Store.HasUnreadable() {
		answer.Rules = "unreadable"
	}
	if len(s.Tokens.Set().Unread) > 0 {
		answer.Tokens = "unreadable"
	}
	return c.writeJSON(answer)
}

// acceptClock answers POST /admin/clock.
func (s *Server) acceptClock(ctx context.Context, _ call, body *api.ClockChange) (api.Clock, error) {
	if !body.Accept {
		return api.Clock{}, draw.Errorf(draw.CodeInvalidRequest, "accept must be true")
	}
	by, err := s.Store.AcceptClock(ctx)
	return api.Clock{LeaptSeconds: by.Seconds()}, err
}

// showMetrics answers GET /metrics. A metric that cannot be collected is
// logged and left out.
func (s *Server) showMetrics() handler {
	show := promhttp.HandlerFor(s.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.Log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesMax,
		Timeout:             s.RequestTimeout,
		// Exemplars exist only in this format, which writes bounds of buckets
		// differently: without tracing, the format of the metrics does not change.
		EnableOpenMetrics: s.Tracer != nil,
	})
	return func(c call) error {
		c.gin.Header("Content-Type", "text/plain; charset=utf-8") // a scrape that times out is answered without a type
		show.ServeHTTP(c.gin.Writer, c.gin.Request)
		return nil
	}
}

// scrapesMax is the maximum number of concurrent scrapes.
const scrapesMax = 4

const (
	// readyMax is the timeout of a check of readiness.
	readyMax = 2 * time.Second
	// readyFor is how long the result of a check is used.
	readyFor = time.Second
)

// readiness keeps the result of the last check. Only one check runs at a time, for all
// callers.
type readiness struct {
	check func(ctx context.Context) error
	turn  *semaphore.Weighted // its holder may access the other fields
	at    time.Time
	err   error
}

func newReadiness(check func(ctx context.Context) error) *readiness {
	return &readiness{check: check, turn: semaphore.NewWeighted(1)}
}

// ask returns the result of a check that is not older than readyFor.
func (r *readiness) ask(ctx context.Context) error {
	if err := r.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.turn.Release(1)
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	// Others wait for the result: the check does not end with the caller that began it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyMax)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}
