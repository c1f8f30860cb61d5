package http

import (
	"bytes"
	"encoding/csv"
	"mime"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

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

// exportAwards streams all awards after p.after, up to the pool's version at
// the beginning, so that it ends however fast draws go on. It holds one page
// at a time. An error once rows have gone out cuts the connection: a file that
// ends early must not look whole.
//
// Fields are written exactly as they are, quoted as CSV needs and nothing
// more. A user named =1+1 stays so: whoever opens the file in a spreadsheet
// must import it as text.
func (s *Server) exportAwards(c *gin.Context, p page) {
	if c.Request.URL.Query().Has("limit") {
		s.fail(c, draw.Errorf(draw.CodeInvalidRequest, "limit is for pages of JSON; text/csv streams all awards"))
		return
	}
	pool, err := s.readPool(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	var out bytes.Buffer
	rows := csv.NewWriter(&out)
	_ = rows.Write(strings.Split("version,at,draw,ordinal,user,prize,name,value,unit", ","))
	for after, more := p.after, true; more; {
		unhurried(c, s.RequestTimeout+s.limits.page)
		var found []draw.Award
		if found, err = s.awardPage(c, p.poolID, after); err != nil {
			break
		}
		more = len(found) == limitMax
		for i := range found {
			if found[i].Version > pool.Version {
				more = false
				break
			}
			after = found[i].Version
			_ = rows.Write(awardRow(&found[i])) // to memory: cannot fail
		}
		rows.Flush()
		if err = send(c, &out); err != nil {
			break
		}
	}
	if err == nil {
		return
	}
	if !c.Writer.Written() {
		s.fail(c, err)
		return
	}
	_ = c.Error(err)
	panic(nethttp.ErrAbortHandler)
}

func (s *Server) awardPage(c *gin.Context, poolID string, after int64) ([]draw.Award, error) {
	ctx, cancel := s.within(c)
	defer cancel()
	return s.History.Awards(ctx, poolID, after, limitMax)
}

func awardRow(a *draw.Award) []string {
	return []string{
		strconv.FormatInt(a.Version, 10), formatTime(a.At), a.DrawID, strconv.Itoa(a.Ordinal), a.UserID,
		a.PrizeID, a.PrizeName, a.Value.StringFixed(2), strconv.FormatInt(a.Unit, 10),
	}
}

// send passes on what is in out and empties it.
func send(c *gin.Context, out *bytes.Buffer) error {
	if !c.Writer.Written() {
		c.Writer.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		c.Writer.Header().Set("Cache-Control", "no-store")
		c.Writer.WriteHeader(nethttp.StatusOK)
	}
	if _, err := out.WriteTo(c.Writer); err != nil {
		return err
	}
	return nethttp.NewResponseController(c.Writer).Flush()
}

// unhurried gives an answer that may take long its own time to be written, in
// place of the server's write time-out.
func unhurried(c *gin.Context, limit time.Duration) {
	// A writer without deadlines needs none lifted.
	_ = nethttp.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(limit))
}
