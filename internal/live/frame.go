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
	// PrizesMax is the maximum number of prizes of a pool in a frame.
	PrizesMax = 50
	// frameMax is the maximum length of a frame with prizes, in bytes. A longer frame is
	// sent without its prizes.
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
		// EndsAt is null if no units are drawn.
		EndsAt *string `json:"ends_at"`
		// Currency is "" for none.
		Currency string `json:"currency"`
		// Budget is null without a budget, Nothing is null while something can be won.
		Budget  *budgetJSON  `json:"budget"`
		Nothing *nothingJSON `json:"nothing"`
		// Low are the prizes that the rules warn of; absent if there are none.
		Low []lowJSON `json:"low,omitempty"`
		// Prizes is null if there are too many.
		Prizes []prizeJSON `json:"prizes"`
	}
	budgetJSON struct {
		Max   string  `json:"max"`
		Per   *string `json:"per"`
		Spent string  `json:"spent"`
		Left  string  `json:"left"`
		// ResetsAt is null for never.
		ResetsAt *string `json:"resets_at"`
		// EndsAt is when the budget is used up at the present pace. It is null if that is not
		// within the budget's period.
		EndsAt *string `json:"ends_at"`
	}
	nothingJSON struct {
		Why    draw.Withheld `json:"why"`
		Since  *string       `json:"since"`
		Until  *string       `json:"until"`
		Detail string        `json:"detail"`
	}
	lowJSON struct {
		Prize     string `json:"prize"`
		Remaining int64  `json:"remaining"`
		Below     int64  `json:"below"`
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
		// Given is the total value of the issued units.
		Given string `json:"given"`
	}
)

// encode makes a frame of the pools that were read.
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
	p.EndsAt = orNull(past.end(o, now))
	p.Currency = o.Currency
	p.Budget, p.Nothing = newBudget(o, past, now), newNothing(o.Money.Nothing)
	for _, l := range o.Money.Low {
		p.Low = append(p.Low, lowJSON{l.PrizeID, l.Remaining, l.Below})
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

func newBudget(o *draw.Overview, past *past, now time.Time) *budgetJSON {
	b := o.Money.Budget
	if b == nil {
		return nil
	}
	show := func(cents int64) string { return draw.Amount(cents).StringFixed(2) }
	shown := &budgetJSON{Max: show(b.Max), Spent: show(b.Spent), Left: show(b.Left), ResetsAt: orNull(b.ResetsAt), EndsAt: orNull(past.budgetEnd(o, now))}
	if per := b.Per.String(); per != "" {
		shown.Per = &per
	}
	return shown
}

func newNothing(n *draw.Nothing) *nothingJSON {
	if n == nil {
		return nil
	}
	return &nothingJSON{n.Why, orNull(n.Since), orNull(n.Until), n.Detail()}
}

// orNull returns a time in the form of frames, nil for the zero time.
func orNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	at := format(t)
	return &at
}

func newPrize(of *draw.Prize) prizeJSON {
	p := prizeJSON{ID: of.ID, Name: of.Name, Value: of.Value.StringFixed(2), Kind: draw.KindPrize, Issued: of.Issued, Given: of.Given().StringFixed(2)}
	if !of.IsWin() {
		p.Kind = draw.KindBlank
	}
	if !of.IsEndless() {
		stocked, remaining := of.Stocked, of.Remaining()
		p.Stocked, p.Remaining = &stocked, &remaining
	}
	return p
}
