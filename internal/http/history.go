package http

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

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

type logAnswer struct {
	Entries []any `json:"entries"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

// The entries of a log: the members of their kinds, and which kind it is.
type (
	awardEntry struct {
		Kind string `json:"kind"`
		api.Award
		Redirect *redirectAnswer `json:"redirect,omitempty"`
	}
	moveEntry struct {
		Kind string `json:"kind"`
		api.Move
	}
	changeEntry struct {
		Kind    string         `json:"kind"`
		Version int64          `json:"version"`
		At      string         `json:"at"`
		What    draw.What      `json:"what"`
		Body    jsontext.Value `json:"body"`
		Actor   string         `json:"actor"`
	}
)

// newEntry is an entry as the log shows it.
func newEntry(e *draw.Entry) any {
	switch {
	case e.Award != nil:
		return awardEntry{"award", api.ShowAward(e.Award), newRedirect(e.Award.Redirect)}
	case e.Move != nil:
		return moveEntry{"move", api.ShowMove(e.Move)}
	}
	c := e.Change
	body := jsontext.Value(c.Body)
	if !body.IsValid() {
		body = nil // only a damaged pool has such a change; it is shown all the same
	}
	return changeEntry{"change", c.Version, api.ShowTime(c.At), c.What, body, c.Actor}
}

// logRead reads the log that the call asks for: the whole, or acts alone.
func (s *Server) logRead(c call) (func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error), error) {
	acts, err := c.word("acts", "false", "true")
	if acts == "true" {
		return s.Store.Acts, err
	}
	return s.Store.Log, err
}

// log answers GET /admin/pools/{pool}/log.
func (s *Server) log(ctx context.Context, c call) (logAnswer, error) {
	read, err := s.logRead(c)
	if err != nil {
		return logAnswer{}, err
	}
	found, next, err := readPage(ctx, c, "pool", read, func(e *draw.Entry) int64 { return e.Version() })
	return logAnswer{api.ShowEach(found, newEntry), next}, err
}

// readStatements reads the lines of at most limit days after one, and the day to go on
// after; nil when these are the last.
func (s *Server) readStatements(ctx context.Context, c call, after string, limit int64) (lines []job.Line, next *string, err error) {
	lines, err = s.Store.Statements(ctx, c.param("pool"), after, int(limit)+1)
	days := int64(0)
	for i := range lines {
		if i > 0 && lines[i].Day == lines[i-1].Day {
			continue
		}
		if days++; days > limit {
			return lines[:i], &lines[i-1].Day, err
		}
	}
	return lines, nil, err
}

// statements answers GET /admin/pools/{pool}/statements.
func (s *Server) statements(ctx context.Context, c call) (api.Statements, error) {
	after, err := c.day("after")
	if err != nil {
		return api.Statements{}, err
	}
	limit, err := c.number("limit", 1, api.DaysMax, api.PageUsual)
	if err != nil {
		return api.Statements{}, err
	}
	lines, next, err := s.readStatements(ctx, c, after, limit)
	return api.Statements{Statements: api.ShowEach(lines, api.ShowStatement), Next: next}, err
}

// audit answers GET /admin/pools/{pool}/audit. It reads every row of the
// pool and so gets more time than other calls.
func (s *Server) audit(c call) error {
	ctx, cancel := c.wholeLog()
	defer cancel()
	a, err := placed(ctx, c, func() (draw.Audit, error) { return s.Store.Audit(ctx, c.param("pool")) })
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = &draw.Error{Code: draw.CodeStoreUnavailable, Err: err, Detail: fmt.Sprintf(
			"the audit took longer than %s; the command drawsvc audit has no limit", s.limits.audit)}
	}
	if err != nil {
		return err
	}
	return c.writeJSON(api.ShowAudit(&a))
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

// redirectAnswer says what the rules gave an award in place of; nothing is null.
type redirectAnswer struct {
	Drawn *string  `json:"drawn"`
	Why   draw.Why `json:"why"`
}

func newRedirect(r *draw.Redirect) *redirectAnswer {
	if r == nil {
		return nil
	}
	a := redirectAnswer{Why: r.Why}
	if r.Drawn != "" {
		a.Drawn = &r.Drawn
	}
	return &a
}
