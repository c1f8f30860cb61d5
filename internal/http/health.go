package http

import "drawsvc/internal/draw"

// Condition is what an instance cannot do, although its database answers.
type Condition interface {
	// SeedsAway reports whether a committed pool cannot be drawn from here, because its
	// seed cannot be unsealed.
	SeedsAway() bool
	// HasUnreadable reports whether this binary cannot read some rules or planned items.
	HasUnreadable() bool
}

type healthAnswer struct {
	Status string `json:"status"`
	// Seeds is "unavailable" where a committed pool cannot be drawn from here.
	Seeds string `json:"seeds,omitempty"`
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
	if s.Store.HasUnreadable() {
		answer.Rules = "unreadable"
	}
	if len(s.Tokens.Set().Unread) > 0 {
		answer.Tokens = "unreadable"
	}
	return c.writeJSON(answer)
}
