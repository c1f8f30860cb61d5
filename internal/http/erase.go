package http

import (
	"context"

	"drawsvc/internal/api"
)

// Eraser replaces users in what is kept of their draws.
type Eraser interface {
	// EraseUser replaces a user in all awards of a pool, and returns their number.
	EraseUser(ctx context.Context, poolID, user, actor string) (awards int64, err error)
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
	return c.writeJSON(api.Erased{Pool: c.param("pool"), Awards: awards})
}
