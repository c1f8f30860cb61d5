package draw

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Spread is a schedule of units of one prize over a span of time.
type Spread struct {
	PrizeID string
	Units   int64
	// From is the first instant of the span, To the first after it.
	From, To time.Time
	// Every is the time between two releases; 0 gives each unit a random instant.
	Every  time.Duration
	Reason string
	// IsMoments makes each unit a moment; then Reason has no meaning.
	IsMoments bool
}

// Items returns the items of the schedule, in order of their times. Releases at fixed
// intervals share the units as evenly as possible; random instants are chosen with
// below. Error: CodeInvalidRequest.
func (s *Spread) Items(below func(n int64) int64) ([]Item, error) {
	span := s.To.Sub(s.From)
	switch {
	case s.Units < 1 || s.Units > StockMax:
		return nil, Errorf(CodeInvalidRequest, "units must be a whole number from 1 to %d", StockMax)
	case span < TimeStep:
		return nil, Errorf(CodeInvalidRequest, "to must be behind from")
	case span == math.MaxInt64: // or more: Sub returns no larger value
		return nil, Errorf(CodeInvalidRequest, "to must be at most 292 years behind from")
	case s.Every < 0 || s.Every > 0 && s.Every < time.Second:
		return nil, Errorf(CodeInvalidRequest, "every must be 1s or more")
	case (s.Every == 0 || s.IsMoments) && s.Units > AgendaMax:
		return nil, Errorf(CodeInvalidRequest, "%d units by chance would be more than the %d items that can be planned at once", s.Units, AgendaMax)
	}
	var items []Item
	if s.Every == 0 {
		items = s.random(int64(span/TimeStep), below)
	} else {
		n := int64((span-1)/s.Every) + 1 // rounded up in this form, because the sum may exceed 64 bits
		if n > AgendaMax {
			return nil, Errorf(CodeInvalidRequest, "%d releases would be more than the %d items that can be planned at once", n, AgendaMax)
		}
		for i := range n {
			// The factors are multiplied in this order, because units times releases
			// may exceed 64 bits.
			share, rest := s.Units/n, s.Units%n
			units := share + (i+1)*rest/n - i*rest/n
			items = s.add(items, s.From.Add(time.Duration(i)*s.Every), units)
		}
	}
	for i := range items {
		if err := items[i].Check(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// random gives each unit an instant; units with the same instant are one item.
func (s *Spread) random(steps int64, below func(n int64) int64) []Item {
	at := make([]int64, s.Units)
	for i := range at {
		at[i] = below(steps)
	}
	slices.SortFunc(at, cmp.Compare)
	var items []Item
	for i, when := range at {
		if i > 0 && when == at[i-1] && !s.IsMoments {
			items[len(items)-1].Stock.Delta++
			continue
		}
		items = s.add(items, s.From.Add(time.Duration(when)*TimeStep), 1)
	}
	return items
}

// add adds the items that release units at an instant: one item, or one moment per
// unit.
func (s *Spread) add(items []Item, at time.Time, units int64) []Item {
	switch {
	case units == 0:
		return items
	case s.IsMoments:
		for range units {
			items = append(items, Item{At: at, Kind: ItemMoment, Stock: MomentOf(s.PrizeID)})
		}
		return items
	}
	return append(items, Item{At: at, Kind: ItemStock, Stock: Stocking{PrizeID: s.PrizeID, Delta: units, Reason: s.Reason}})
}
