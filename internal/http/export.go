package http

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"drawsvc/internal/draw"
)

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
	read        func(ctx context.Context, poolID string, after int64, limit int) ([]E, error)
	version     func(*E) int64
	// write adds an entry to what is sent next; it cannot fail, as it writes to
	// memory. flush, where set, is called when a page is written.
	write func(*E)
	flush func()
}

// stream sends all entries after a version, up to the pool's version at the
// beginning, so that it ends however fast draws go on. It holds one page at a
// time, in out. An error once entries were sent cuts the connection: a file that
// ends early must not look like a whole one.
func (x export[E]) stream(c call, out *bytes.Buffer) error {
	s := c.server
	if c.query.Has("limit") {
		return draw.Errorf(draw.CodeInvalidRequest, "limit is for pages of JSON; a stream has all entries")
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
	for more := true; more; {
		found, err := x.page(c, after)
		if err != nil {
			return err
		}
		more = len(found) == limitMax && c.gin.Request.Method != nethttp.MethodHead
		for i := range found {
			if x.version(&found[i]) > last {
				more = false
				break
			}
			after = x.version(&found[i])
			x.write(&found[i])
		}
		if x.flush != nil {
			x.flush()
		}
		if err := pace.of(c, func() error { return c.send(x.contentType, out) }); err != nil {
			return err
		}
	}
	return nil
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

func (x export[E]) page(c call, after int64) ([]E, error) {
	ctx, cancel := c.within(c.server.RequestTimeout)
	defer cancel()
	return x.read(ctx, c.param("pool"), after, limitMax)
}

// formulas is the query parameter that makes an export safe for spreadsheets.
const formulas = "formulas"

// exportCSV streams a log as CSV; row writes an entry, and text is for what
// callers chose. Fields are written exactly as they are, quoted as CSV needs and
// nothing more, unless the caller wants formulas escaped.
func exportCSV[E any](c call, header string, x export[E], row func(e *E, text func(string) string) []string) error {
	style, err := c.word(formulas, "exact", "escaped")
	if err != nil {
		return err
	}
	text := func(field string) string { return field }
	if style == "escaped" {
		text = escapeFormula
	}
	var out bytes.Buffer
	rows := csv.NewWriter(&out)
	_ = rows.Write(strings.Split(header, ",")) // to memory: cannot fail
	x.contentType = "text/csv; charset=utf-8; header=present"
	x.write = func(entry *E) { _ = rows.Write(row(entry, text)) }
	x.flush = rows.Flush
	return x.stream(c, &out)
}

// exportAwards streams the awards of a pool as CSV.
func (s *Server) exportAwards(c call) error {
	x := export[draw.Award]{read: s.History.Awards, version: func(a *draw.Award) int64 { return a.Version }}
	return exportCSV(c, "version,at,draw,ordinal,user,prize,name,value,unit", x, func(a *draw.Award, text func(string) string) []string {
		return []string{
			number(a.Version), formatTime(a.At), text(a.DrawID), strconv.Itoa(a.Ordinal), text(a.UserID),
			a.PrizeID, text(a.PrizeName), a.Value.StringFixed(2), number(a.Unit),
		}
	})
}

// exportMoves streams the moves of a pool as CSV.
func (s *Server) exportMoves(c call) error {
	x := export[draw.Move]{read: s.History.Moves, version: func(m *draw.Move) int64 { return m.Version }}
	return exportCSV(c, "version,at,prize,delta,reason,actor,stocked,issued", x, func(m *draw.Move, text func(string) string) []string {
		return []string{
			number(m.Version), formatTime(m.At), m.PrizeID, numberOrEndless(m.Delta, m.IsEndless), text(m.Reason), text(m.Actor),
			numberOrEndless(m.Stocked, m.IsEndless), number(m.Issued),
		}
	})
}

// numberOrEndless is a number of units in a CSV file.
func numberOrEndless(n int64, isEndless bool) string {
	if isEndless {
		return "endless"
	}
	return number(n)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// escapeFormula puts an apostrophe before a field that a spreadsheet would take
// for a formula, also in the wide letters of East Asian ones.
func escapeFormula(field string) string {
	first, _ := utf8.DecodeRuneInString(field)
	if strings.ContainsRune("=+-@\t\r\uff1d\uff0b\uff0d\uff20", first) {
		return "'" + field
	}
	return field
}

// poolVersion returns the version of the call's pool.
func (s *Server) poolVersion(c call) (int64, error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	pool, err := s.Reader.Pool(ctx, c.param("pool"))
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
