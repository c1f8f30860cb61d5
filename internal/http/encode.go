package http

import (
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
)

// appendDraw writes the answer to a draw. Prizes and their names come from the store,
// which accepts only valid UTF-8; anything else becomes U+FFFD.
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
		var l *draw.Life
		if i < len(d.Lives) {
			l = d.Lives[i]
		}
		b = appendAward(b, &d.Awards[i], l)
	}
	return append(b, "]"+answerEnd...)
}

func appendAward(b []byte, a *draw.Award, l *draw.Life) []byte {
	b = append(b, `{"prize":`...)
	b, _ = jsontext.AppendQuote(b, a.PrizeID)
	b = append(b, `,"name":`...)
	b, _ = jsontext.AppendQuote(b, a.PrizeName)
	b = append(b, `,"value":"`...)
	b = appendValue(b, a.Value)
	b = append(b, `","win":`...)
	b = strconv.AppendBool(b, a.Win())
	b = append(b, `,"unit":`...)
	b = strconv.AppendInt(b, a.Unit, 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, a.Version, 10)
	b = append(b, `,"at":"`...)
	b = draw.AppendTime(b, a.At)
	b = append(b, '"')
	switch {
	case l != nil:
		b = appendLife(b, l)
	case a.NeedsClaim:
		b = appendTimeOrNull(append(b, `,"claim_until":`...), a.ClaimUntil)
	}
	if a.HasCode {
		b = append(b, `,"code":`...)
		b, _ = jsontext.AppendQuote(b, a.Code)
	}
	return append(b, '}')
}

// appendLife writes the life of an award.
func appendLife(b []byte, l *draw.Life) []byte {
	b = strconv.AppendBool(append(b, `,"needs_claim":`...), l.NeedsClaim)
	b = appendTimeOrNull(append(b, `,"claim_until":`...), l.Until)
	b = append(append(append(b, `,"state":"`...), l.State...), `","since":"`...)
	b = append(draw.AppendTime(b, l.Since), '"')
	if l.State == draw.AwardFulfilled {
		b = append(b, `,"reference":`...)
		b, _ = jsontext.AppendQuote(b, l.Reference)
	}
	return b
}

func appendTimeOrNull(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(draw.AppendTime(append(b, '"'), t), '"')
}

// appendValue writes a value with two decimals. Values in whole cents, as the store has
// them, are written without big integers.
func appendValue(b []byte, v decimal.Decimal) []byte {
	const digitsMax = 15 // so many digits always fit in an int64
	if v.Exponent() != -2 || v.IsNegative() || v.NumDigits() > digitsMax {
		return append(b, v.StringFixed(2)...)
	}
	cents := v.CoefficientInt64()
	b = strconv.AppendInt(b, cents/100, 10)
	return append(b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// writeDraw answers with a draw.
func (c call) writeDraw(d *draw.Draw) {
	c.replayed(d.Replayed)
	out := c.server.buffer()
	defer c.server.buffers.Put(out)
	*out = appendDraw((*out)[:0], d)
	c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
	c.writeShort(nethttp.StatusOK, *out)
}

// answerEnd ends the answer to a draw.
const answerEnd = "}\n"
