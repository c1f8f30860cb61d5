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

	"drawsvc/internal/draw"
)

// The media types that logs have besides JSON.
const (
	typeCSV    = "text/csv"
	typeNDJSON = "application/x-ndjson"
)

// prefers says whether the caller accepts a media type, and JSON no better.
func prefers(mediaType string, h nethttp.Header) bool {
	var wanted, json float64
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
			case mediaType:
				wanted = weight
			case "application/json":
				json = weight
			}
		}
	}
	return wanted > 0 && wanted >= json
}

// orCSV has csv answer the callers who prefer it, and json all others.
func orCSV(json, csv handler) handler { return or(typeCSV, csv, json) }

// orNDJSON does so with ndjson.
func orNDJSON(json, ndjson handler) handler { return or(typeNDJSON, ndjson, json) }

func or(mediaType string, preferred, json handler) handler {
	return func(c call) error {
		if prefers(mediaType, c.gin.Request.Header) {
			return preferred(c)
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
	for more := true; more; {
		c.unhurried(s.RequestTimeout + s.limits.page)
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
		if err := c.send(x.contentType, out); err != nil {
			return err
		}
	}
	return nil
}

func (x export[E]) page(c call, after int64) ([]E, error) {
	ctx, cancel := c.within(c.server.RequestTimeout)
	defer cancel()
	return x.read(ctx, c.param("pool"), after, limitMax)
}

// exportCSV streams a log as CSV. Fields are written exactly as they are, quoted
// as CSV needs and nothing more. A user named =1+1 stays so: whoever opens the
// file in a spreadsheet must import it as text.
func exportCSV[E any](c call, header string, x export[E], row func(*E) []string) error {
	var out bytes.Buffer
	rows := csv.NewWriter(&out)
	_ = rows.Write(strings.Split(header, ",")) // to memory: cannot fail
	x.contentType = "text/csv; charset=utf-8; header=present"
	x.write = func(entry *E) { _ = rows.Write(row(entry)) }
	x.flush = rows.Flush
	return x.stream(c, &out)
}

// exportAwards streams the awards of a pool as CSV.
func (s *Server) exportAwards(c call) error {
	return exportCSV(c, "version,at,draw,ordinal,user,prize,name,value,unit",
		export[draw.Award]{read: s.History.Awards, version: func(a *draw.Award) int64 { return a.Version }}, awardRow)
}

// exportMoves streams the moves of a pool as CSV.
func (s *Server) exportMoves(c call) error {
	return exportCSV(c, "version,at,prize,delta,reason,actor,stocked,issued",
		export[draw.Move]{read: s.History.Moves, version: func(m *draw.Move) int64 { return m.Version }}, moveRow)
}

// poolVersion returns the version of the call's pool.
func (s *Server) poolVersion(c call) (int64, error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	pool, err := s.Reader.Pool(ctx, c.param("pool"))
	return pool.Version, err
}

func awardRow(a *draw.Award) []string {
	return []string{
		strconv.FormatInt(a.Version, 10), formatTime(a.At), a.DrawID, strconv.Itoa(a.Ordinal), a.UserID,
		a.PrizeID, a.PrizeName, a.Value.StringFixed(2), strconv.FormatInt(a.Unit, 10),
	}
}

func moveRow(m *draw.Move) []string {
	return []string{
		strconv.FormatInt(m.Version, 10), formatTime(m.At), m.PrizeID, strconv.FormatInt(m.Delta, 10), m.Reason, m.Actor,
		strconv.FormatInt(m.Stocked, 10), strconv.FormatInt(m.Issued, 10),
	}
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
