package http

import (
	"context"
	nethttp "net/http"

	"drawsvc/client"
)

// Eraser replaces users in what is kept of their draws.
type Eraser interface {
	// EraseUser replaces a user in all awards of a pool, and returns their number.
	EraseUser(ctx context.Context, poolID, user, actor string) (awards int64, err error)
}

var _ Eraser = (*Admin)(nil)

// erasedAnswer does not repeat whose awards they were.
type erasedAnswer struct {
	Pool   string `json:"pool"`
	Awards int64  `json:"awards"`
}

// eraseUser answers DELETE /admin/pools/{pool}/users/{user}.
func (s *Server) eraseUser(c call) error {
	ctx, done, err := c.beginLong() // it searches all awards
	if err != nil {
		return err
	}
	defer done()
	awards, err := s.Store.EraseUser(ctx, c.param("pool"), c.param("user"), c.actor())
	if err != nil {
		return err
	}
	return c.writeJSON(erasedAnswer{c.param("pool"), awards})
}

// EraseUser implements Eraser.
func (a *Admin) EraseUser(ctx context.Context, poolID, user, _ string) (int64, error) {
	c := client.Call{Method: nethttp.MethodDelete, Path: poolPath(poolID, "users", user), AttemptMax: logMax}
	done, err := fetch[erasedAnswer](ctx, a, c)
	return done.Awards, err
}
