package http

import (
	"bytes"
	"context"
	nethttp "net/http"
	"sync"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Feeder reads the feed of awards over all pools.
type Feeder interface {
	// ExtendFeed adds a segment for each pool that has new entries, and returns the number
	// of the last segment.
	ExtendFeed(ctx context.Context) (int64, error)
	ReadFeed(ctx context.Context, wanted draw.FeedQuery) (draw.FeedPage, error)
	// FeedEnd returns the cursor after all segments.
	FeedEnd(ctx context.Context) (draw.FeedCursor, error)
}

const (
	// feedPath is the path of the feed of awards over all pools.
	feedPath = "/admin/awards"
	// feedWaitMax is the longest time that a call waits for awards.
	feedWaitMax = time.Minute
	// feedEvery is how often the head of the feed is read, for all waiting calls together.
	feedEvery = 500 * time.Millisecond
)

// feedPoll is the last read of the head of the feed, which all waiting calls share.
type feedPoll struct {
	mu sync.Mutex
	at time.Time
	n  int64
}

// feedWanted reads the parameters of a call of the feed. isNow means that the call
// begins at the end of the feed.
func (c call) feedWanted() (wanted draw.FeedQuery, isNow bool, err error) {
	if wanted.Wins, err = c.isWanted("win"); err != nil {
		return wanted, false, err
	}
	if c.query.Has("accept") {
		if _, err = c.word("accept", "fork"); err != nil {
			return wanted, false, err
		}
		wanted.AcceptFork = true
	}
	limit, err := c.number("limit", 1, api.PageMax, api.PageUsual)
	if err != nil {
		return wanted, false, err
	}
	wanted.Limit = int(limit)
	after := c.query.Get("after")
	if isNow = after == "now"; isNow || !c.query.Has("after") {
		return wanted, isNow, nil
	}
	wanted.After, err = draw.ParseFeedCursor(after)
	return wanted, false, err
}

// feedWait reads how long a call waits for awards.
func (c call) feedWait() (time.Duration, error) {
	if !c.query.Has("wait") {
		return 0, nil
	}
	wait, err := time.ParseDuration(c.query.Get("wait"))
	if err != nil || wait < 0 || wait > feedWaitMax {
		return 0, draw.Errorf(draw.CodeInvalidRequest, "wait must be a duration of at most %s, such as 30s", feedWaitMax)
	}
	return wait, nil
}

// feed answers GET /admin/awards.
func (s *Server) feed(c call) error {
	wanted, isNow, err := c.feedWanted()
	if err != nil {
		return err
	}
	wait, err := c.feedWait()
	if err != nil {
		return err
	}
	page, err := s.feedPage(c, &wanted, isNow)
	if err != nil {
		return err
	}
	if wait > 0 && len(page.Awards) == 0 && page.IsEnd {
		if page, err = s.awaitFeed(c, wanted, page, wait); err != nil {
			return err
		}
	}
	return c.writeJSON(api.Feed{Awards: api.ShowEach(page.Awards, api.ShowFeedAward), End: page.IsEnd, Next: page.Next.String()})
}

// feedPage extends the feed and reads a page, while it holds a place among the calls that
// use the database.
func (s *Server) feedPage(c call, wanted *draw.FeedQuery, isNow bool) (page draw.FeedPage, err error) {
	return placed(c, func(ctx context.Context) (draw.FeedPage, error) {
		if _, err := s.Store.ExtendFeed(ctx); err != nil {
			return page, err
		}
		if isNow {
			wanted.After, err = s.Store.FeedEnd(ctx)
			return draw.FeedPage{Next: wanted.After, IsEnd: true}, err
		}
		return s.Store.ReadFeed(ctx, *wanted)
	})
}

// awaitFeed returns the first page that has an award, or an empty page when the wait is
// over. A call that waits holds no connection to the database. It also ends if its token
// becomes invalid, its caller disconnects or the service shuts down.
func (s *Server) awaitFeed(c call, wanted draw.FeedQuery, page draw.FeedPage, wait time.Duration) (draw.FeedPage, error) {
	done, err := c.take(s.bounds.Waiters, 1, "as many calls wait for awards already as this token may have wait")
	if err != nil {
		return page, err
	}
	defer done()
	c.unhurried(wait + s.limits.page)
	// Without this, net/http would treat the end of the read timeout as a disconnection
	// of the caller.
	_ = nethttp.NewResponseController(c.gin.Writer).SetReadDeadline(time.Time{})
	ctx, end := context.WithTimeout(c.gin.Request.Context(), wait)
	defer end()
	defer context.AfterFunc(s.streaming, end)()
	for {
		select {
		case <-ctx.Done():
			return page, nil
		case <-time.After(feedEvery):
		}
		if !s.gate.Admits(c.caller, c.route.role) {
			return page, nil
		}
		if !s.hasFeedMoved(ctx, c, page.Next.Segment) {
			continue
		}
		wanted.After = page.Next
		next, err := s.feedPage(c, &wanted, false)
		if err != nil || len(next.Awards) > 0 {
			return next, err
		}
		page = next
	}
}

// hasFeedMoved reports whether the feed has a segment after the given one. One waiting
// call reads the head of the feed for all. While the database does not answer, the result
// is false.
func (s *Server) hasFeedMoved(ctx context.Context, c call, after int64) bool {
	l := &s.feedPoll
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) >= feedEvery {
		ctx, cancel := context.WithTimeout(ctx, s.RequestTimeout)
		defer cancel()
		if n, err := placedIn(ctx, c, func() (int64, error) { return s.Store.ExtendFeed(ctx) }); err == nil {
			l.n = n
		}
		l.at = time.Now()
	}
	return l.n > after
}

// feedAs returns the handler of the feed, which answers in the form that the caller
// prefers.
func (s *Server) feedAs() handler {
	csv, lines := streamed(s.exportFeed), streamed(s.exportFeedLines)
	return func(c call) error {
		switch h := c.gin.Request.Header; {
		case prefers(typeCSV, h):
			return csv(c)
		case c.query.Has(formulas):
			return draw.Errorf(draw.CodeInvalidRequest, "%s is for text/csv", formulas)
		case prefers(typeNDJSON, h):
			return lines(c)
		}
		return s.feed(c)
	}
}

// exportFeed streams the feed as CSV, exportFeedLines as a line of JSON for each award.
func (s *Server) exportFeed(c call) error {
	style, err := c.word(formulas, api.FormulasExact, api.FormulasEscaped)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := api.NewFeedRows(&out, style == api.FormulasEscaped)
	return s.streamFeed(c, typeCSVHeader, &out, func(page []draw.FeedAward) {
		for i := range page {
			rows.Write(new(api.ShowFeedAward(&page[i])))
		}
		_ = rows.Flush() // to memory: cannot fail
	})
}

func (s *Server) exportFeedLines(c call) error {
	var out bytes.Buffer
	return s.streamFeed(c, typeNDJSON, &out, func(page []draw.FeedAward) {
		for i := range page {
			_ = api.WriteLine(&out, new(api.ShowFeedAward(&page[i]))) // to memory: cannot fail
		}
	})
}

// streamFeed sends all awards that the feed has when the call begins.
func (s *Server) streamFeed(c call, contentType string, out *bytes.Buffer, write func([]draw.FeedAward)) error {
	if c.query.Has("wait") {
		return draw.Errorf(draw.CodeInvalidRequest, "wait is for JSON")
	}
	wanted, isNow, err := c.feedWanted()
	if err != nil {
		return err
	}
	left := -1
	if c.query.Has("limit") {
		left = wanted.Limit
	}
	pace := pace{left: s.limits.page, each: s.limits.pace}
	for {
		wanted.Limit = api.PageMax
		if left >= 0 {
			wanted.Limit = min(left, api.PageMax)
		}
		page, err := s.feedPart(c, &wanted, isNow)
		if err != nil {
			return err
		}
		write(page.Awards)
		if err := pace.of(c, func() error { return c.send(contentType, out) }); err != nil {
			return err
		}
		if left >= 0 {
			left -= len(page.Awards)
		}
		if page.IsEnd || left == 0 || c.gin.Request.Method == nethttp.MethodHead {
			return nil
		}
		wanted.After = page.Next
	}
}

// feedPart is like feedPage, for a stream. A stream ends where the feed ended when its
// first page was read.
func (s *Server) feedPart(c call, wanted *draw.FeedQuery, isNow bool) (page draw.FeedPage, err error) {
	return placed(c, func(ctx context.Context) (draw.FeedPage, error) {
		if wanted.Until == 0 {
			end, err := s.Store.ExtendFeed(ctx)
			if err != nil || isNow || end == 0 {
				return draw.FeedPage{IsEnd: true}, err
			}
			wanted.Until = end
		}
		return s.Store.ReadFeed(ctx, *wanted)
	})
}
