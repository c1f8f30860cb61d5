package http

import (
	"context"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Condition is what an instance cannot do, although its database answers.
type Condition interface {
	// SeedsAway reports whether a committed pool cannot be drawn from here, because its
	// seed cannot be unsealed.
	SeedsAway() bool
	// HasUnreadable reports whether this binary cannot read some rules or planned items.
	HasUnreadable() bool
	// HasCodesAway reports whether a pool with codes cannot be drawn from here, because its
	// codes do not open.
	HasCodesAway() bool
}

type healthAnswer struct {
	Status string `json:"status"`
	// Seeds is "unavailable" where a committed pool cannot be drawn from here.
	Seeds string `json:"seeds,omitempty"`
	// Codes is "unavailable" where a pool with codes cannot be drawn from here.
	Codes string `json:"codes,omitempty"`
	// Rules is "unreadable" where this binary cannot read what a pool is drawn by.
	Rules string `json:"rules,omitempty"`
	// Tokens is "unreadable" where entries of the token file are left out, because
	// another release wrote them.
	Tokens string `json:"tokens,omitempty"`
}

// live says that the process answers, and nothing more: a database that is
// down is no reason to restart the service.
func live(c call) error { return c.writeJSON(healthAnswer{Status: "live"}) }

// ready says whether draws would be taken.
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

const (
	// readyMax is the longest that a check of readiness may take.
	readyMax = 2 * time.Second
	// readyFor is how long its result is the answer.
	readyFor = time.Second
)

// readiness keeps the result of the last check. One check is under way at a
// time, whatever the number of callers.
type readiness struct {
	check func(ctx context.Context) error
	turn  chan struct{} // whoever has it may read and write the rest
	at    time.Time
	err   error
}

func newReadiness(check func(ctx context.Context) error) *readiness {
	return &readiness{check: check, turn: make(chan struct{}, 1)}
}

// ask returns the result of a check that is not older than readyFor.
func (r *readiness) ask(ctx context.Context) error {
	if err := enter(ctx, r.turn); err != nil {
		return err
	}
	defer leave(r.turn)
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	// Others wait for the result: it does not end with the one who asks.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyMax)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}

// ClockKeeper judges the database's clock.
type ClockKeeper interface {
	// AcceptClock takes the clock to be right, and returns by how much it had leapt.
	AcceptClock(ctx context.Context) (by time.Duration, err error)
}

// acceptClock answers POST /admin/clock.
func (s *Server) acceptClock(ctx context.Context, _ call, body *api.ClockChange) (api.Clock, error) {
	if !body.Accept {
		return api.Clock{}, draw.Errorf(draw.CodeInvalidRequest, "accept must be true")
	}
	by, err := s.Store.AcceptClock(ctx)
	return api.Clock{LeaptSeconds: by.Seconds()}, err
}
