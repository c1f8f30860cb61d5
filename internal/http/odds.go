package http

import (
	"context"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Odds states the chances of a pool's next draw.
type Odds interface {
	// Odds are those of a user, or for userID "" of one without turns. A draw
	// that would be refused is an error with the refusal's code.
	Odds(ctx context.Context, poolID, userID string) (draw.Statement, error)
}

// encodeOdds encodes the answer to GET /pools/{pool}/odds, where the rules say that
// players may read them. They follow from the pool's state and, where the rules have a
// budget of a window, from the time.
func (s *Server) encodeOdds(ctx context.Context, poolID string) ([]byte, error) {
	found, err := s.Store.Odds(ctx, poolID, "")
	if err == nil && !found.IsDisclosed {
		err = draw.Errorf(draw.CodeNotFound, "pool %q publishes no odds", poolID)
	}
	if err != nil {
		return nil, err
	}
	return encodeJSON(api.ShowOdds(&found))
}

func oddsOrRefusal(o *draw.Statement, err error) (any, error) {
	if refused, ok := api.ShowRefused(err); ok {
		return refused, nil
	}
	if err != nil {
		return nil, err
	}
	return api.ShowOdds(o), nil
}

// adminOdds answers GET /admin/pools/{pool}/odds.
func (s *Server) adminOdds(ctx context.Context, c call) (any, error) {
	userID := ""
	if c.query.Has("user") {
		userID = c.query.Get("user")
		if err := draw.CheckUser(userID); err != nil {
			return nil, err
		}
	}
	found, err := s.Store.Odds(ctx, c.param("pool"), userID)
	return oddsOrRefusal(&found, err)
}
