package http

import (
	"context"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Finder searches a pool's history.
type Finder interface {
	// FindAwards returns at most limit awards that f wants, with versions above
	// after, in order. through is the version up to which these are all.
	FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error)
	// Acts returns moves and changes as History.Log does.
	Acts(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// filters are the query parameters that say which awards are wanted.
func filters() []string { return []string{"user", "prize", "draw"} }

// filter reads them. given is false without any.
func (c call) filter() (f draw.AwardFilter, given bool, err error) {
	f = draw.AwardFilter{UserID: c.query.Get("user"), PrizeID: c.query.Get("prize"), DrawID: c.query.Get("draw")}
	for _, name := range filters() {
		if !c.query.Has(name) {
			continue
		}
		given = true
		if c.query.Get(name) == "" {
			return f, true, draw.Errorf(draw.CodeInvalidRequest, "%s is empty", name)
		}
	}
	return f, given, f.Check()
}

// findAwards answers GET /admin/pools/{pool}/awards with a filter. A page may be
// short of its limit, or empty, and yet have a next: a search goes through a
// bounded part of the log.
func (s *Server) findAwards(ctx context.Context, c call, f draw.AwardFilter) (api.Awards, error) {
	after, limit, err := c.pageWanted()
	if err != nil {
		return api.Awards{}, err
	}
	found, through, err := s.Store.FindAwards(ctx, c.param("pool"), f, after, int(limit))
	if err != nil {
		return api.Awards{}, err
	}
	answer := api.Awards{Awards: api.ShowEach(found, api.ShowAward)}
	pool, err := s.Store.Pool(ctx, c.param("pool")) // in the place that the call has already
	if through < pool.Version {
		answer.Next = &through
	}
	return answer, err
}
