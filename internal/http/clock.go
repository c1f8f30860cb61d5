package http

import (
	"context"
	nethttp "net/http"
	"time"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// ClockKeeper judges the database's clock.
type ClockKeeper interface {
	// AcceptClock takes the clock to be right, and returns by how much it had leapt.
	AcceptClock(ctx context.Context) (by time.Duration, err error)
}

// clockBody is the body of POST /admin/clock.
type clockBody struct {
	Accept bool `json:"accept"`
}

type clockAnswer struct {
	LeaptSeconds float64 `json:"leapt_seconds"`
}

// acceptClock answers POST /admin/clock.
func (s *Server) acceptClock(ctx context.Context, _ call, body *clockBody) (clockAnswer, error) {
	if !body.Accept {
		return clockAnswer{}, draw.Errorf(draw.CodeInvalidRequest, "accept must be true")
	}
	by, err := s.Store.AcceptClock(ctx)
	return clockAnswer{by.Seconds()}, err
}

// AcceptClock has the service take the database's clock to be right, and returns by
// how much it had leapt. Errors: those of the store.
func (a *Admin) AcceptClock(ctx context.Context) (time.Duration, error) {
	done, err := send[clockAnswer](ctx, a, client.Call{Method: nethttp.MethodPost, Path: "/admin/clock"}, &clockBody{Accept: true})
	return time.Duration(done.LeaptSeconds * float64(time.Second)), err
}
