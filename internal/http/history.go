package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// History reads a pool's log. Each method returns at most limit entries with a
// version above after, in order of version: awards, moves, or all of them.
type History interface {
	Awards(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error)
	Moves(ctx context.Context, poolID string, after int64, limit int) ([]draw.Move, error)
	Log(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// Finder searches a pool's history.
type Finder interface {
	// FindAwards returns at most limit awards that f selects, with versions above
	// after, in order. through is the version up to which they are complete.
	FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error)
	// Acts returns moves and changes as History.Log does.
	Acts(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// Auditor compares the rows of a pool with each other.
type Auditor interface {
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

// Eraser replaces users in the records of their draws.
type Eraser interface {
	// EraseUser replaces a user in all awards of a pool, and returns their number.
	EraseUser(ctx context.Context, poolID, user, actor string) (awards int64, err error)
}

// Statements reads what the statement job has written.
type Statements interface {
	// Statements returns the lines of at most limit days after the day after. If days have
	// many lines, it returns fewer days. next is the last returned day if more may follow,
	// otherwise "".
	Statements(ctx context.Context, poolID, after string, limit int) (lines []job.Line, next string, err error)
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
	found, end, err := readPage(ctx, c, "pool", s.Store.Awards, func(a *draw.Award) int64 { return a.Version })
	return api.Awards{Awards: api.ShowEach(found, api.ShowAward), End: end}, err
}

// moves answers GET /admin/pools/{pool}/moves.
func (s *Server) moves(ctx context.Context, c call) (api.Moves, error) {
	found, end, err := readPage(ctx, c, "pool", s.Store.Moves, func(m *draw.Move) int64 { return m.Version })
	return api.Moves{Moves: api.ShowEach(found, api.ShowMove), End: end}, err
}

// filters returns the names of the query parameters that select awards.
func filters() []string { return []string{"user", "prize", "draw", "win", "from", "to", "state"} }

// filter reads the parameters of filters. given is false if the call has none of them.
func (c call) filter() (f draw.AwardFilter, given bool, err error) {
	f = draw.AwardFilter{UserID: c.query.Get("user"), PrizeID: c.query.Get("prize"), DrawID: c.query.Get("draw"), State: draw.AwardState(c.query.Get("state"))}
	for _, name := range filters() {
		if !c.query.Has(name) {
			continue
		}
		given = true
		if c.query.Get(name) == "" {
			return f, true, draw.Errorf(draw.CodeInvalidRequest, "%s is empty", name)
		}
	}
	if f.Wins, err = c.isWanted("win"); err != nil {
		return f, true, err
	}
	if f.From, err = c.time("from"); err == nil {
		f.To, err = c.time("to")
	}
	if err != nil {
		return f, true, err
	}
	return f, given, f.Check()
}

// isWanted reads a query parameter that is true or false; the default is false.
func (c call) isWanted(name string) (bool, error) {
	word, err := c.word(name, "false", "true")
	return word == "true", err
}

// time reads a query parameter that is an instant, zero without it.
func (c call) time(name string) (time.Time, error) {
	if !c.query.Has(name) {
		return time.Time{}, nil
	}
	return draw.ParseTime(name, c.query.Get(name))
}

// findAwards answers GET /admin/pools/{pool}/awards with a filter. A page may be
// shorter than its limit, or empty, and still have a next page: a search goes through a
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
	answer.End, err = s.endOfSearch(ctx, c, after, through)
	return answer, err
}

// endOfSearch returns how to continue after a search that found all awards above after
// and up to through; math.MaxInt64 means up to the end.
func (s *Server) endOfSearch(ctx context.Context, c call, after, through int64) (end api.End, err error) {
	if end.Cursor = max(after, through); through == math.MaxInt64 {
		end.Cursor = after
	}
	pool, err := s.Store.Pool(ctx, c.param("pool")) // the call already holds a place
	if through < pool.Version {
		end.Next = &through
	}
	return end, err
}

type logAnswer struct {
	Entries []any `json:"entries"`
	api.End
}

// The entries of a log, one type for each kind. Each has the members of its kind, and the
// kind itself.
type (
	awardEntry struct {
		Kind string `json:"kind"`
		api.Award
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

// newEntry returns an entry as the log shows it.
func newEntry(e *draw.Entry) any {
	switch {
	case e.Award != nil:
		return awardEntry{"award", api.ShowAward(e.Award)}
	case e.Move != nil:
		return moveEntry{"move", api.ShowMove(e.Move)}
	}
	c := e.Change
	body := jsontext.Value(c.Body)
	if !body.IsValid() {
		body = nil // only a damaged pool has such a change; it is shown nevertheless
	}
	return changeEntry{"change", c.Version, api.ShowTime(c.At), c.What, body, c.Actor}
}

// logRead returns the reader of the log that the call requests: the whole log, or only
// acts.
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
	found, end, err := readPage(ctx, c, "pool", read, func(e *draw.Entry) int64 { return e.Version() })
	return logAnswer{api.ShowEach(found, newEntry), end}, err
}

// readStatements reads the lines of at most limit days after a given day. It returns
// the last day of the page, nil for the last page.
func (s *Server) readStatements(ctx context.Context, c call, after string, limit int64) (lines []job.Line, next *string, err error) {
	lines, last, err := s.Store.Statements(ctx, c.param("pool"), after, int(limit))
	if last == "" {
		return lines, nil, err
	}
	return lines, &last, err
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

// audit answers GET /admin/pools/{pool}/audit. It reads every row of the pool, so it
// has a longer timeout than other calls.
func (s *Server) audit(c call) error {
	ctx, cancel := c.wholeLog()
	defer cancel()
	a, err := placedIn(ctx, c, func() (draw.Audit, error) { return s.Store.Audit(ctx, c.param("pool")) })
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
