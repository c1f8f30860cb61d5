package http

import (
	"context"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

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
