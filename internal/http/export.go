package http

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"mime"
	nethttp "net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"drawsvc/internal/draw"
)

// wantsCSV says whether the caller accepts CSV, and JSON no better.
func wantsCSV(h nethttp.Header) bool {
	var csvWeight, jsonWeight float64
	for _, line := range h["Accept"] {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			weight := 1.0
			if q, given := params["q"]; given {
				weight, _ = strconv.ParseFloat(q, 64) // what is no number weighs nothing
			}
			switch kind {
			case "text/csv":
				csvWeight = weight
			case "application/json":
				jsonWeight = weight
			}
		}
	}
	return csvWeight > 0 && csvWeight >= jsonWeight
}

// orCSV has csv answer the callers who prefer it, and json all others.
func orCSV(json, csv handler) handler {
	return func(c call) error {
		if wantsCSV(c.gin.Request.Header) {
			return csv(c)
		}
		if c.query.Has(formulas) {
			return draw.Errorf(draw.CodeInvalidRequest, "%s is for text/csv", formulas)
		}
		return json(c)
	}
}

// formulas is the query parameter that makes an export safe for spreadsheets.
const formulas = "formulas"

// exported is a log of a pool as CSV.
type exported[E any] struct {
	header  string
	page    func(ctx context.Context, poolID string, after int64, limit int) ([]E, error)
	version func(*E) int64
	// row writes an entry; text is for what callers chose.
	row func(e *E, text func(string) string) []string
}

// exportAwards streams the awards of a pool.
func (s *Server) exportAwards(c call) error {
	return export(s, c, exported[draw.Award]{
		header: "version,at,draw,ordinal,user,prize,name,value,unit", page: s.History.Awards,
		version: func(a *draw.Award) int64 { return a.Version },
		row: func(a *draw.Award, text func(string) string) []string {
			return []string{
				number(a.Version), formatTime(a.At), text(a.DrawID), strconv.Itoa(a.Ordinal), text(a.UserID),
				a.PrizeID, text(a.PrizeName), a.Value.StringFixed(2), number(a.Unit),
			}
		},
	})
}

// exportMoves streams the stock moves of a pool.
func (s *Server) exportMoves(c call) error {
	return export(s, c, exported[draw.Move]{
		header: "version,at,prize,delta,reason,stocked,issued", page: s.History.Moves,
		version: func(m *draw.Move) int64 { return m.Version },
		row: func(m *draw.Move, text func(string) string) []string {
			return []string{
				number(m.Version), formatTime(m.At), m.PrizeID, number(m.Delta), text(m.Reason), number(m.Stocked), number(m.Issued),
			}
		},
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// export streams all entries after a version, up to the pool's version at
// the beginning, so that it ends however fast draws go on. It holds one page
// at a time. An error once rows were sent cuts the connection: a file that
// ends early must not look like a whole one.
//
// Fields are written exactly as they are, quoted as CSV needs and nothing
// more, unless the caller wants formulas escaped.
func export[E any](s *Server, c call, log exported[E]) error {
	if c.query.Has("limit") {
		return draw.Errorf(draw.CodeInvalidRequest, "limit is for pages of JSON; text/csv streams all entries")
	}
	style, err := c.word(formulas, "exact", "escaped")
	if err != nil {
		return err
	}
	text := func(field string) string { return field }
	if style == "escaped" {
		text = escapeFormula
	}
	after, err := c.number("after", 0, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	last, err := s.poolVersion(c)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := csv.NewWriter(&out)
	_ = rows.Write(strings.Split(log.header, ","))
	for more := true; more; {
		c.unhurried(s.RequestTimeout + s.limits.page)
		found, err := exportPage(s, c, log, after)
		if err != nil {
			return err
		}
		more = len(found) == limitMax && c.gin.Request.Method != nethttp.MethodHead
		for i := range found {
			if log.version(&found[i]) > last {
				more = false
				break
			}
			after = log.version(&found[i])
			_ = rows.Write(log.row(&found[i], text)) // to memory: cannot fail
		}
		rows.Flush()
		if err := c.send(&out); err != nil {
			return err
		}
	}
	return nil
}

func exportPage[E any](s *Server, c call, log exported[E], after int64) ([]E, error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	return log.page(ctx, c.param("pool"), after, limitMax)
}

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
func (c call) send(out *bytes.Buffer) error {
	if !c.gin.Writer.Written() {
		c.gin.Writer.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		c.gin.Writer.WriteHeaderNow()
	}
	if _, err := out.WriteTo(c.gin.Writer); err != nil {
		return err
	}
	return nethttp.NewResponseController(c.gin.Writer).Flush()
}
