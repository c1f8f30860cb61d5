package http

import (
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
)

// timeFormat is RFC 3339 in UTC, always with six decimals.
const timeFormat = "2006-01-02T15:04:05.000000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// write sends an answer whose headers are set. Only short ones get their
// length from net/http.
func write(c *gin.Context, status int, body []byte) {
	c.Writer.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // a caller who has gone is not told
}

// writeJSON answers with v. Answers are of the moment and not to be kept.
func (s *Server) writeJSON(c *gin.Context, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.fail(c, draw.Wrap(draw.CodeInternal, err, "the answer could not be written"))
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	write(c, status, append(body, '\n'))
}

func (s *Server) writeDraw(c *gin.Context, d *draw.Draw) {
	out := s.buffer()
	defer s.buffers.Put(out)
	*out = appendDraw((*out)[:0], d)
	c.Writer.Header()["Content-Type"] = []string{"application/json"}
	write(c, nethttp.StatusOK, *out)
}

// appendDraw writes the answer to a draw. Prizes and their names come from
// the store, which lets in valid UTF-8 only; anything else becomes U+FFFD.
func appendDraw(b []byte, d *draw.Draw) []byte {
	b = append(b, `{"draw":`...)
	b, _ = jsontext.AppendQuote(b, d.ID)
	b = append(b, `,"pool":`...)
	b, _ = jsontext.AppendQuote(b, d.PoolID)
	b = append(b, `,"user":`...)
	b, _ = jsontext.AppendQuote(b, d.UserID)
	b = append(b, `,"replayed":`...)
	b = strconv.AppendBool(b, d.Replayed)
	b = append(b, `,"awards":[`...)
	for i := range d.Awards {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendAward(b, &d.Awards[i])
	}
	return append(b, "]}\n"...)
}

func appendAward(b []byte, a *draw.Award) []byte {
	b = append(b, `{"prize":`...)
	b, _ = jsontext.AppendQuote(b, a.PrizeID)
	b = append(b, `,"name":`...)
	b, _ = jsontext.AppendQuote(b, a.PrizeName)
	b = append(b, `,"value":"`...)
	b = appendValue(b, a.Value)
	b = append(b, `","unit":`...)
	b = strconv.AppendInt(b, a.Unit, 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, a.Version, 10)
	b = append(b, `,"at":"`...)
	b = a.At.UTC().AppendFormat(b, timeFormat)
	return append(b, `"}`...)
}

// appendValue writes a value with two decimals. Amounts as the store holds
// them, in whole cents, are written without a detour through big integers.
func appendValue(b []byte, v decimal.Decimal) []byte {
	const digitsMax = 15 // fit any int64
	if v.Exponent() != -2 || v.IsNegative() || v.NumDigits() > digitsMax {
		return append(b, v.StringFixed(2)...)
	}
	cents := v.CoefficientInt64()
	b = strconv.AppendInt(b, cents/100, 10)
	return append(b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}
