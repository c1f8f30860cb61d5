package http

import (
	"context"
	"math"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// History reads a pool's log. Each method returns at most limit entries with a
// version above after, in order of version: awards, moves, or all of them.
type History interface {
	Awards(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error)
	Moves(ctx context.Context, poolID string, after int64, limit int) ([]draw.Move, error)
	Log(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// readPage reads the page of a log that the call asks for. next is the after
// of the page behind it, nil when there is none.
func readPage[E any](
	ctx context.Context, c call, of string,
	read func(ctx context.Context, id string, after int64, limit int) ([]E, error), number func(*E) int64,
) (entries []E, next *int64, err error) {
	after, limit, err := c.pageWanted()
	if err != nil {
		return nil, nil, err
	}
	// One more than asked for says whether there is a next page.
	entries, err = read(ctx, c.param(of), after, int(limit)+1)
	if err != nil || int64(len(entries)) <= limit {
		return entries, nil, err
	}
	entries = entries[:limit]
	last := number(&entries[limit-1])
	return entries, &last, nil
}

// pageWanted reads which page of a log the call asks for.
func (c call) pageWanted() (after, limit int64, err error) {
	if after, err = c.number("after", 0, math.MaxInt64, 0); err != nil {
		return 0, 0, err
	}
	limit, err = c.number("limit", 1, api.PageMax, api.PageUsual)
	return after, limit, err
}

// awards answers GET /admin/pools/{pool}/awards.
func (s *Server) awards(ctx context.Context, c call) (api.Awards, error) {
	f, given, err := c.filter()
	if err != nil {
		return api.Awards{}, err
	}
	if given {
		return s.findAwards(ctx, c, f)
	}
	found, next, err := readPage(ctx, c, "pool", s.Store.Awards, func(a *draw.Award) int64 { return a.Version })
	return api.Awards{Awards: api.ShowEach(found, api.ShowAward), Next: next}, err
}

// moves answers GET /admin/pools/{pool}/moves.
func (s *Server) moves(ctx context.Context, c call) (api.Moves, error) {
	found, next, err := readPage(ctx, c, "pool", s.Store.Moves, func(m *draw.Move) int64 { return m.Version })
	return api.Moves{Moves: api.ShowEach(found, api.ShowMove), Next: next}, err
}
