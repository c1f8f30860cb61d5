package live

import (
	"math"
	"time"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
)

const (
	// PoolsMax is the maximum number of pools in a frame.
	PoolsMax = 100
	// PrizesMax is the maximum number of prizes that a pool is shown with.
	PrizesMax = 50
	// frameMax is the maximum length of a frame with prizes, in bytes. A longer one is
	// sent without them.
	frameMax = 256 << 10
)

type (
	frameJSON struct {
		At string `json:"at"`
		// Code is why there are no pools; "" if they were read.
		Code  draw.Code  `json:"code,omitempty"`
		Pools []poolJSON `json:"pools"`
	}
	poolJSON struct {
		ID       string     `json:"id"`
		Name     string     `json:"name"`
		State    draw.State `json:"state"`
		Mode     *string    `json:"mode"`
		Version  int64      `json:"version"`
		Revision int64      `json:"revision"`
		Rules    int64      `json:"rules"`
		// Committed is the version of the pool's commitment, 0 for none.
		Committed int64 `json:"committed"`
		// Stocked, Issued and Remaining exclude endless blanks; Awards includes them.
		Stocked   int64 `json:"stocked"`
		Issued    int64 `json:"issued"`
		Remaining int64 `json:"remaining"`
		Awards    int64 `json:"awards"`
		// Rate is the number of awards per second.
		Rate float64 `json:"rate"`
		// EndsAt is null if nothing is drawn.
		EndsAt *string `json:"ends_at"`
		// Prizes is null if there are too many.
		Prizes []prizeJSON `json:"prizes"`
	}
	prizeJSON struct {
		ID    string    `json:"id"`
		Name  string    `json:"name"`
		Value string    `json:"value"`
		Kind  draw.Kind `json:"kind"`
		// Stocked and Remaining are null for an endless blank.
		Stocked   *int64 `json:"stocked"`
		Issued    int64  `json:"issued"`
		Remaining *int64 `json:"remaining"`
	}
)

// encode makes the frame of a reading.
func encode(pools []draw.Overview, past *past, now time.Time) []byte {
	f := frameJSON{At: format(now), Pools: make([]poolJSON, len(pools))}
	for i := range pools {
		f.Pools[i] = newPool(&pools[i], past, now)
	}
	frame := event(&f)
	if len(frame) > frameMax {
		for i := range f.Pools {
			f.Pools[i].Prizes = nil
		}
		frame = event(&f)
	}
	return frame
}

// encodeFailure makes a frame that reports that the pools could not be read.
func encodeFailure(err error, now time.Time) []byte {
	return event(&frameJSON{At: format(now), Code: draw.CodeOf(err)})
}

func format(t time.Time) string { return t.UTC().Format(draw.TimeFormat) }

// event returns a frame as an event of text/event-stream. JSON has no line breaks.
func event(f *frameJSON) []byte {
	text, _ := json.Marshal(f, json.FormatNilSliceAsNull(true)) // numbers and valid UTF-8: cannot fail
	return append(append([]byte("data: "), text...), "\n\n"...)
}

func newPool(o *draw.Overview, past *past, now time.Time) poolJSON {
	p := poolJSON{
		ID: o.ID, Name: o.Name, State: o.State, Version: o.Version, Revision: o.Revision, Rules: o.RulesVersion, Committed: o.Committed,
		Stocked: o.Stocked, Issued: o.Issued, Remaining: o.Remaining(), Awards: o.Awards,
		Rate: math.Round(past.rate(o.ID)*100) / 100,
	}
	if o.Mode != "" {
		p.Mode = &o.Mode
	}
	if end := past.end(o, now); !end.IsZero() {
		at := format(end)
		p.EndsAt = &at
	}
	if int64(len(o.Prizes)) < o.PrizeCount {
		return p
	}
	p.Prizes = make([]prizeJSON, len(o.Prizes))
	for i := range o.Prizes {
		p.Prizes[i] = newPrize(&o.Prizes[i])
	}
	return p
}

func newPrize(of *draw.Prize) prizeJSON {
	p := prizeJSON{ID: of.ID, Name: of.Name, Value: of.Value.StringFixed(2), Kind: draw.KindPrize, Issued: of.Issued}
	if !of.IsWin() {
		p.Kind = draw.KindBlank
	}
	if !of.IsEndless() {
		stocked, remaining := of.Stocked, of.Remaining()
		p.Stocked, p.Remaining = &stocked, &remaining
	}
	return p
}
