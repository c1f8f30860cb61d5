package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// LoggedAward is an award as an operator reads it.
type LoggedAward struct {
	Award
	// Pool is its pool, Key the key of its draw, and Ordinal its position in the draw.
	Pool    string `json:"pool"`
	Key     string `json:"draw"`
	Ordinal int    `json:"ordinal"`
	User    string `json:"user"`
	// Kind is prize, or blank for a losing ticket.
	Kind string `json:"kind"`
	// Redirect is nil if the award is the unit that was drawn.
	Redirect *Redirect `json:"redirect"`
	// Cursor continues [Client.Feed] after this award.
	Cursor string `json:"cursor"`
}

// Redirect describes why the rules replaced the drawn unit; Drawn is nil if no prize was
// drawn.
type Redirect struct {
	Drawn *string `json:"drawn"`
	Why   string  `json:"why"`
}

// FeedOptions select the awards [Client.Feed] returns.
type FeedOptions struct {
	// Wins leaves out losing tickets.
	Wins bool
	// Wait is how long a request waits for an award, at most a minute. If it is set,
	// the feed ends only when its context ends.
	Wait time.Duration
	// AcceptFork continues after a pool has lost versions, instead of returning FeedForked.
	// Awards may then come again.
	AcceptFork bool
}

// Feed returns the awards of all pools after a cursor, each once, in the order of the
// feed. The cursor "" is the start of the feed, "now" its end. Store the cursor of an
// award together with what you have done for the award. The sequence ends after its first
// error. Errors: *Error, *Unsettled.
func (c *Client) Feed(ctx context.Context, after string, o FeedOptions) iter.Seq2[LoggedAward, error] {
	query := url.Values{}
	for name, is := range map[string]bool{"win": o.Wins, "wait": o.Wait > 0, "accept": o.AcceptFork} {
		if is {
			query.Set(name, map[string]string{"win": "true", "wait": o.Wait.String(), "accept": "fork"}[name])
		}
	}
	return func(yield func(LoggedAward, error) bool) {
		for {
			if after != "" {
				query.Set("after", after)
			}
			var page struct {
				Awards []LoggedAward `json:"awards"`
				End    bool          `json:"end"`
				Next   string        `json:"next"`
			}
			if !c.readPage(ctx, "/admin/awards?"+query.Encode(), o.Wait, &page, yield) {
				return
			}
			for i := range page.Awards {
				if !yield(page.Awards[i], nil) {
					return
				}
			}
			after = page.Next
			if page.End && (o.Wait == 0 || ctx.Err() != nil) {
				return
			}
		}
	}
}

// PoolAwards returns the awards of a pool after a version, in order, up to the last one.
// The sequence ends after its first error. Errors: *Error, *Unsettled.
func (c *Client) PoolAwards(ctx context.Context, pool string, after int64) iter.Seq2[LoggedAward, error] {
	return c.logged(ctx, "/admin/pools/"+url.PathEscape(pool)+"/awards", pool, after)
}

// readPage decodes a page into a value and reports whether it could; if not, it yields
// the error. The service may wait for an award before it answers.
func (c *Client) readPage(ctx context.Context, path string, wait time.Duration, into any, yield func(LoggedAward, error) bool) bool {
	body, err := c.Do(ctx, Call{Method: http.MethodGet, Path: path, AttemptMax: wait + attemptMax})
	if err == nil && countItems(body) > itemsMax {
		err = ErrTooLong
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		yield(LoggedAward{}, err)
	}
	return err == nil
}
