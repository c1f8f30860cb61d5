package http

import (
	"context"
	"math"

	"drawsvc/internal/draw"
)

const (
	// limitMax is the most entries in one page.
	limitMax = 1000
	// limitUsual is the length of a page when the caller names none.
	limitUsual = 100
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
	limit, err = c.number("limit", 1, limitMax, limitUsual)
	return after, limit, err
}

type awardsAnswer struct {
	Awards []awardAnswer `json:"awards"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

type awardAnswer struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	Draw    string `json:"draw"`
	Ordinal int    `json:"ordinal"`
	User    string `json:"user"`
	Prize   string `json:"prize"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Win     bool   `json:"win"`
	Unit    int64  `json:"unit"`
}

func newAward(a *draw.Award) awardAnswer {
	return awardAnswer{
		a.Version, formatTime(a.At), a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.PrizeName, a.Value.StringFixed(2), a.Win(), a.Unit,
	}
}

// awards answers GET /admin/pools/{pool}/awards.
func (s *Server) awards(ctx context.Context, c call) (awardsAnswer, error) {
	f, given, err := c.filter()
	if err != nil {
		return awardsAnswer{}, err
	}
	if given {
		return s.findAwards(ctx, c, f)
	}
	found, next, err := readPage(ctx, c, "pool", s.Store.Awards, func(a *draw.Award) int64 { return a.Version })
	return awardsAnswer{each(found, newAward), next}, err
}

type movesAnswer struct {
	Moves []moveAnswer `json:"moves"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

type moveAnswer struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	Prize   string `json:"prize"`
	Delta   *int64 `json:"delta"` // null: an endless blank was made
	Reason  string `json:"reason"`
	Actor   string `json:"actor"`
	Stocked *int64 `json:"stocked"`
	Issued  int64  `json:"issued"`
}

// unlessEndless is a number of units, null where it is that of an endless blank.
func unlessEndless(n int64, isEndless bool) *int64 {
	if isEndless {
		return nil
	}
	return &n
}

func newMove(m *draw.Move) moveAnswer {
	return moveAnswer{
		m.Version, formatTime(m.At), m.PrizeID, unlessEndless(m.Delta, m.IsEndless), m.Reason, m.Actor, unlessEndless(m.Stocked, m.IsEndless), m.Issued,
	}
}

// moves answers GET /admin/pools/{pool}/moves.
func (s *Server) moves(ctx context.Context, c call) (movesAnswer, error) {
	found, next, err := readPage(ctx, c, "pool", s.Store.Moves, func(m *draw.Move) int64 { return m.Version })
	return movesAnswer{each(found, newMove), next}, err
}
