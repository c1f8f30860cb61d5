package http

import (
	"bytes"
	"context"
	"io"
	"math"
	nethttp "net/http"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// formulas is the query parameter that makes an export safe for spreadsheets.
const formulas = "formulas"

// typeCSVHeader is the media type of an export, which begins with a header.
const typeCSVHeader = typeCSV + "; charset=utf-8; header=present"

// orCSV returns a handler that answers with csv for callers that prefer it, and with
// json for all others.
func orCSV(json, csv handler) handler { return or(typeCSV, csv, json) }

// orNDJSON does the same as orCSV, with ndjson.
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

// export is a streamed log: how it is read, and how an entry is written.
type export[E any] struct {
	contentType string
	// read returns at most limit entries above after, in order of version. through is the
	// version up to which found is complete.
	read    func(ctx context.Context, poolID string, after int64, limit int) (found []E, through int64, err error)
	version func(*E) int64
	// end returns the version at which the export ends. If it is nil, that is the pool's
	// version.
	end func(call) (int64, error)
	// write adds an entry to the next part of the answer; it cannot fail, because it
	// writes to memory. flush, if set, is called when a page is written.
	write func(*E)
	flush func()
}

// paged returns the function read of an export. The given function must return fewer
// entries than limit only at the end of the log.
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

// stream sends the entries after a version, all of them or as many as the caller wants.
// It ends at the version that the pool had at the beginning, however fast draws
// continue. It keeps one page at a time in memory, in out. An error after entries were
// sent cuts the connection: an incomplete file must not seem complete.
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
	if x.end == nil {
		x.end = s.poolVersion
	}
	last, err := x.end(c)
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

// pace limits how long a caller may take to read a stream: an initial time, plus a time
// for each page. A slower caller is cut off, because it uses a place that others need.
// Reading the database does not count.
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
	x.flush = func() { _ = rows.Flush() } // writes to memory: cannot fail
	return x.stream(c, &out)
}

func versionOfAward(a *draw.Award) int64 { return a.Version }

func versionOfMove(m *draw.Move) int64 { return m.Version }

// exportAwards streams the awards of a pool as CSV, or the results of a search.
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
	pool, err := placed(c, func(ctx context.Context) (draw.Pool, error) { return s.Store.Pool(ctx, c.param("pool")) })
	return pool.Version, err
}

// send sends the content of out and empties it.
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

// exportLog streams the log, a line of JSON for each entry.
func (s *Server) exportLog(c call) error {
	read, err := s.logRead(c)
	if err != nil {
		return err
	}
	version := func(e *draw.Entry) int64 { return e.Version() }
	var out bytes.Buffer
	x := export[draw.Entry]{contentType: typeNDJSON, read: paged(read, version), version: version}
	x.write = func(e *draw.Entry) { _ = api.WriteLine(&out, newEntry(e)) } // writes to memory: cannot fail
	return x.stream(c, &out)
}

// exportDays is how many days are read at once for an export: each may have a line for
// each of 100,000 prizes.
const exportDays = 10

// exportStatements streams statements as CSV: all days, or as many as the caller wants.
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
		_ = rows.Flush() // writes to memory: cannot fail
		if err := pace.of(c, func() error { return c.send(typeCSVHeader, &out) }); err != nil {
			return err
		}
		if left -= daysOf(lines); next == nil || left <= 0 || c.gin.Request.Method == nethttp.MethodHead {
			return nil
		}
		after = *next
	}
}

// daysOf returns the number of different days in lines, which are in the order of their
// days.
func daysOf(lines []job.Line) (days int64) {
	for i := range lines {
		if i == 0 || lines[i].Day != lines[i-1].Day {
			days++
		}
	}
	return days
}

// statementsPage reads a page, while it holds a place among the calls that use the
// database.
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
