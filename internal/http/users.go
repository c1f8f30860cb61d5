package http

import (
	"context"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Users says where users of pools stand, whose rules count draws or wins. For
// other pools both return CodeUserNotCounted.
type Users interface {
	Standing(ctx context.Context, poolID, userID string) (draw.Standing, error)
	// UserAwards returns at most limit of a user's awards that the rules have
	// counted, with a version above after, in order of version.
	UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error)
}

// user answers GET /pools/{pool}/users/{user}.
func (s *Server) user(ctx context.Context, c call) (api.User, error) {
	found, err := s.Store.Standing(ctx, c.param("pool"), c.param("user"))
	if err != nil {
		return api.User{}, err
	}
	return api.ShowUser(&found), nil
}

// userAwards answers GET /pools/{pool}/users/{user}/awards.
func (s *Server) userAwards(ctx context.Context, c call) (api.Awards, error) {
	read := func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error) {
		return s.Store.UserAwards(ctx, poolID, c.param("user"), after, limit)
	}
	found, next, err := readPage(ctx, c, "pool", read, func(a *draw.Award) int64 { return a.Version })
	return api.Awards{Awards: api.ShowEach(found, api.ShowAward), Next: next}, err
}
