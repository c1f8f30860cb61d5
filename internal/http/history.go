package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	nethttp "net/http"
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

// exportLog streams it, a line of JSON for each entry.
func (s *Server) exportLog(c call) error {
	read, err := s.logRead(c)
	if err != nil {
		return err
	}
	version := func(e *draw.Entry) int64 { return e.Version() }
	var out bytes.Buffer
	x := export[draw.Entry]{contentType: typeNDJSON, read: paged(read, version), version: version}
	x.write = func(e *draw.Entry) { _ = api.WriteLine(&out, newEntry(e)) } // to memory: cannot fail
	return x.stream(c, &out)
}

// Statements reads what the statement job has written.
type Statements interface {
	// Statements returns the lines of the days after one, at most limit days.
	Statements(ctx context.Context, poolID, after string, limit int) ([]job.Line, error)
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

// exportDays is how many days are read at once for an export: each may have a line for
// each of 100,000 prizes.
const exportDays = 10

// exportStatements streams it as CSV: all days, or as many as the caller wants.
func (s *Server) exportStatements(c call) error {
	after, err := c.day("after")
	if err != nil {
		return err
	}
	left, err := c.number("limit", 1, api.DaysMax, math.MaxInt64)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := api.NewStatementRows(&out)
	pace := pace{left: s.limits.page, each: s.limits.pace}
	for {
		lines, next, err := s.statementsPage(c, after, min(left, exportDays))
		if err != nil {
			return err
		}
		for i := range lines {
			rows.Write(new(api.ShowStatement(&lines[i])))
		}
		_ = rows.Flush() // to memory: cannot fail
		if err := pace.of(c, func() error { return c.send(typeCSVHeader, &out) }); err != nil {
			return err
		}
		if left -= exportDays; next == nil || left <= 0 || c.gin.Request.Method == nethttp.MethodHead {
			return nil
		}
		after = *next
	}
}

// statementsPage reads a page in a place of the database.
func (s *Server) statementsPage(c call, after string, limit int64) (lines []job.Line, next *string, err error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	done, err := c.place(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	return s.readStatements(ctx, c, after, limit)
}

// Auditor holds the rows of a pool against each other.
type Auditor interface {
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
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

// Eraser replaces users in what is kept of their draws.
type Eraser interface {
	// EraseUser replaces a user in all awards of a pool, and returns their number.
	EraseUser(ctx context.Context, poolID, user, actor string) (awards int64, err error)
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

// formulas is the query parameter that makes an export safe for spreadsheets.
const formulas = "formulas"

// typeCSVHeader is the media type of an export, which begins with a header.
const typeCSVHeader = typeCSV + "; charset=utf-8; header=present"

// orCSV has csv answer the callers who prefer it, and json all others.
func orCSV(json, csv handler) handler { return or(typeCSV, csv, json) }

// orNDJSON does so with ndjson.
func orNDJSON(json, ndjson handler) handler { return or(typeNDJSON, ndjson, json) }

func or(mediaType string, preferred, json handler) handler {
	return func(c call) error {
		if prefers(mediaType, c.gin.Request.Header) {
			return preferred(c)
		}
		if c.query.Has(formulas) {
			return draw.Errorf(draw.CodeInvalidRequest, "%s is for text/csv", formulas)
		}
		return json(c)
	}
}

// export is a log that is streamed: how it is read, and how an entry is written.
type export[E any] struct {
	contentType string
	// read returns at most limit entries above after, in order of version. through
	// is the version up to which these are all.
	read    func(ctx context.Context, poolID string, after int64, limit int) (found []E, through int64, err error)
	version func(*E) int64
	// write adds an entry to what is sent next; it cannot fail, as it writes to
	// memory. flush, where set, is called when a page is written.
	write func(*E)
	flush func()
}

// paged reads a log whose page ends early only where the log ends.
func paged[E any](
	read func(ctx context.Context, poolID string, after int64, limit int) ([]E, error), version func(*E) int64,
) func(ctx context.Context, poolID string, after int64, limit int) ([]E, int64, error) {
	return func(ctx context.Context, poolID string, after int64, limit int) ([]E, int64, error) {
		found, err := read(ctx, poolID, after, limit)
		if err != nil || len(found) < limit {
			return found, math.MaxInt64, err
		}
		return found, version(&found[len(found)-1]), nil
	}
}

// stream sends all entries after a version, or as many as the caller wants, up to the
// pool's version at the beginning, so that it ends however fast draws go on. It holds
// one page at a time, in out. An error once entries were sent cuts the connection: a
// file that ends early must not look like a whole one.
func (x export[E]) stream(c call, out *bytes.Buffer) error {
	s := c.server
	left, err := c.number("limit", 1, api.PageMax, math.MaxInt64)
	if err != nil {
		return err
	}
	after, err := c.number("after", 0, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	last, err := s.poolVersion(c)
	if err != nil {
		return err
	}
	pace := pace{left: s.limits.page, each: s.limits.pace}
	for {
		found, through, err := x.page(c, after, int(min(left, api.PageMax)))
		if err != nil {
			return err
		}
		for i := range found {
			if x.version(&found[i]) <= last {
				x.write(&found[i])
			}
		}
		if x.flush != nil {
			x.flush()
		}
		if err := pace.of(c, func() error { return c.send(x.contentType, out) }); err != nil {
			return err
		}
		left -= int64(len(found))
		if after = through; after >= last || left <= 0 || c.gin.Request.Method == nethttp.MethodHead {
			return nil
		}
	}
}

// pace is how long a caller may take to read a stream: some time at first, and
// more with each page. One that reads more slowly is cut off, as it holds the
// place of others. Reading the database does not count.
type pace struct{ left, each time.Duration }

func (p *pace) of(c call, send func() error) error {
	p.left += p.each
	c.unhurried(p.left)
	began := time.Now()
	defer func() { p.left -= time.Since(began) }()
	return send()
}

func (x export[E]) page(c call, after int64, limit int) ([]E, int64, error) {
	ctx, cancel := c.within(c.server.RequestTimeout)
	defer cancel()
	done, err := c.place(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	return x.read(ctx, c.param("pool"), after, limit)
}

// exportRows streams a log as CSV.
func exportRows[E, R any](c call, rowsTo func(io.Writer, bool) *api.Rows[R], show func(*E) R, x export[E]) error {
	style, err := c.word(formulas, api.FormulasExact, api.FormulasEscaped)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := rowsTo(&out, style == api.FormulasEscaped)
	x.contentType = typeCSVHeader
	x.write = func(e *E) { rows.Write(new(show(e))) }
	x.flush = func() { _ = rows.Flush() } // to memory: cannot fail
	return x.stream(c, &out)
}

func versionOfAward(a *draw.Award) int64 { return a.Version }
func versionOfMove(m *draw.Move) int64   { return m.Version }

// exportAwards streams the awards of a pool as CSV, or those that a search finds.
func (s *Server) exportAwards(c call) error {
	f, given, err := c.filter()
	if err != nil {
		return err
	}
	read := paged(s.Store.Awards, versionOfAward)
	if given {
		read = func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, int64, error) {
			return s.Store.FindAwards(ctx, poolID, f, after, limit)
		}
	}
	return exportRows(c, api.NewAwardRows, api.ShowAward, export[draw.Award]{read: read, version: versionOfAward})
}

// exportMoves streams the moves of a pool as CSV.
func (s *Server) exportMoves(c call) error {
	return exportRows(c, api.NewMoveRows, api.ShowMove, export[draw.Move]{read: paged(s.Store.Moves, versionOfMove), version: versionOfMove})
}

// poolVersion returns the version of the call's pool.
func (s *Server) poolVersion(c call) (int64, error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	pool, err := placed(ctx, c, func() (draw.Pool, error) { return s.Store.Pool(ctx, c.param("pool")) })
	return pool.Version, err
}

// send passes on what is in out and empties it.
func (c call) send(contentType string, out *bytes.Buffer) error {
	if !c.gin.Writer.Written() {
		c.gin.Writer.Header().Set("Content-Type", contentType)
		c.gin.Writer.WriteHeaderNow()
	}
	if _, err := out.WriteTo(c.gin.Writer); err != nil {
		return err
	}
	return nethttp.NewResponseController(c.gin.Writer).Flush()
}
