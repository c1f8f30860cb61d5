package http

import (
	"bytes"
	"encoding/csv"
	"math"
	"mime"
	nethttp "net/http"
	"strconv"
	"strings"

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
		return json(c)
	}
}

// exportAwards streams all awards after a version, up to the pool's version at
// the beginning, so that it ends however fast draws go on. It holds one page
// at a time. An error once rows were sent cuts the connection: a file that
// ends early must not look like a whole one.
//
// Fields are written exactly as they are, quoted as CSV needs and nothing
// more. A user named =1+1 stays so: whoever opens the file in a spreadsheet
// must import it as text.
func (s *Server) exportAwards(c call) error {
	if c.query.Has("limit") {
		return draw.Errorf(draw.CodeInvalidRequest, "limit is for pages of JSON; text/csv streams all awards")
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
	_ = rows.Write(strings.Split("version,at,draw,ordinal,user,prize,name,value,unit", ","))
	for more := true; more; {
		c.unhurried(s.RequestTimeout + s.limits.page)
		found, err := s.awardPage(c, after)
		if err != nil {
			return err
		}
		more = len(found) == limitMax && c.gin.Request.Method != nethttp.MethodHead
		for i := range found {
			if found[i].Version > last {
				more = false
				break
			}
			after = found[i].Version
			_ = rows.Write(awardRow(&found[i])) // to memory: cannot fail
		}
		rows.Flush()
		if err := c.send(&out); err != nil {
			return err
		}
	}
	return nil
}

// poolVersion returns the version of the call's pool.
func (s *Server) poolVersion(c call) (int64, error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	pool, err := s.Reader.Pool(ctx, c.param("pool"))
	return pool.Version, err
}

func (s *Server) awardPage(c call, after int64) ([]draw.Award, error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	return s.History.Awards(ctx, c.param("pool"), after, limitMax)
}

func awardRow(a *draw.Award) []string {
	return []string{
		strconv.FormatInt(a.Version, 10), formatTime(a.At), a.DrawID, strconv.Itoa(a.Ordinal), a.UserID,
		a.PrizeID, a.PrizeName, a.Value.StringFixed(2), strconv.FormatInt(a.Unit, 10),
	}
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
