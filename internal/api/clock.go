package api

import (
	"context"
	"net/http"
	"time"
)

// ClockChange is the body of POST /admin/clock.
type ClockChange struct {
	Accept bool `json:"accept"`
}

// Clock states by how much the database's clock has leapt.
type Clock struct {
	LeaptSeconds float64 `json:"leapt_seconds"`
}

// AcceptClock makes the service accept the database's clock. It returns the time by which
// that had leapt.
func (c *Client) AcceptClock(ctx context.Context) (time.Duration, error) {
	done, err := send[Clock](ctx, c, newCall(http.MethodPost, "/admin/clock"), &ClockChange{Accept: true})
	return time.Duration(done.LeaptSeconds * float64(time.Second)), err
}
