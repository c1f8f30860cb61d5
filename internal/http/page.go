package http

import (
	"context"
	"math"

	"drawsvc/internal/api"
)

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
