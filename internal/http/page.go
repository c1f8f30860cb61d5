package http

import (
	"context"
	"math"

	"drawsvc/internal/api"
)

// readPage reads the page of a log that the call requests.
func readPage[E any](
	ctx context.Context, c call, of string,
	read func(ctx context.Context, id string, after int64, limit int) ([]E, error), number func(*E) int64,
) (entries []E, end api.End, err error) {
	after, limit, err := c.pageWanted()
	if err != nil {
		return nil, end, err
	}
	// One more entry than requested is read, to find out whether there is a next page.
	entries, err = read(ctx, c.param(of), after, int(limit)+1)
	isLast := int64(len(entries)) <= limit
	entries = entries[:min(int64(len(entries)), limit)]
	if end.Cursor = after; len(entries) > 0 {
		end.Cursor = number(&entries[len(entries)-1])
	}
	if !isLast {
		end.Next = new(end.Cursor)
	}
	return entries, end, err
}

// pageWanted reads which page of a log is requested.
func (c call) pageWanted() (after, limit int64, err error) {
	if after, err = c.number("after", 0, math.MaxInt64, 0); err != nil {
		return 0, 0, err
	}
	limit, err = c.number("limit", 1, api.PageMax, api.PageUsual)
	return after, limit, err
}
