package api

import (
	"math"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
)

// zMax is the number of standard deviations from an expectation above which chance does
// not explain a result.
const zMax = 5

// Simulated is the result of a simulation, as JSON.
type Simulated struct {
	Draws     int64               `json:"draws"`
	Prizes    []SimulatedPrize    `json:"prizes"`
	Redirects map[draw.Why]int64  `json:"redirects"`
	Refusals  map[draw.Code]int64 `json:"refusals"`
	Spent     string              `json:"spent"`
	// Unlikely means that some share is further from its expectation than chance explains.
	Unlikely bool `json:"unlikely"`
	// Zone is the time zone of Days. The days are in order and without gaps.
	Zone string         `json:"zone"`
	Days []SimulatedDay `json:"days"`
	// Failed are the first items of the agenda that could not be carried out.
	Failed []draw.ItemDone `json:"failed,omitempty"`
	// Hidden is the number of open items that the simulation leaves out, because the caller
	// may not see them. Items that are hidden from everybody are included.
	Hidden    int                 `json:"hidden,omitzero"`
	Guarantee *SimulatedGuarantee `json:"guarantee,omitempty"`
}

// SimulatedDay is the result of a day such as 2026-12-01. It has the number of draws that
// got a unit, of wins among them, and of refused draws, and the value of the awards.
type SimulatedDay struct {
	Day     string `json:"day"`
	Draws   int64  `json:"draws"`
	Wins    int64  `json:"wins"`
	Refused int64  `json:"refused"`
	Value   string `json:"value"`
}

// SimulatedPrize is the result for one prize. A member is null if its value is unknown,
// or if the event did not happen.
type SimulatedPrize struct {
	Prize    string   `json:"prize"`
	Count    int64    `json:"count"`
	Share    float64  `json:"share"`
	Expected *float64 `json:"expected"`
	Z        *float64 `json:"z"`
	// SoldOutAfter is the number of draws that had got a unit when the last unit was taken.
	// SoldOutAt is the simulated time of that draw. SoldOutDay is its day, counted from 1.
	SoldOutAfter *int64  `json:"sold_out_after"`
	SoldOutAt    *string `json:"sold_out_at"`
	SoldOutDay   *int    `json:"sold_out_day"`
	// Remaining is the number of units that are left at the end; null means endless.
	Remaining *int64 `json:"remaining"`
}

// SimulatedGuarantee compares the wins under a guarantee with their mean.
type SimulatedGuarantee struct {
	Wins     int64   `json:"wins"`
	Rate     float64 `json:"rate"`
	Expected float64 `json:"expected"`
	Z        float64 `json:"z"`
}

// ShowSimulated converts the result of a simulation to its response type.
func ShowSimulated(s *odds.Simulated) Simulated {
	a := Simulated{
		Draws: s.Draws, Prizes: make([]SimulatedPrize, len(s.Prizes)), Redirects: s.Redirects, Refusals: s.Refusals,
		Spent: draw.Amount(s.Spent).StringFixed(2), Unlikely: isUnlikely(s), Failed: s.Failed,
		Days: make([]SimulatedDay, len(s.Days)),
	}
	if s.Zone != nil {
		a.Zone = s.Zone.String()
	}
	for i, d := range s.Days {
		a.Days[i] = SimulatedDay{d.Date, d.Draws, d.Wins, d.Refused, draw.Amount(d.Cents).StringFixed(2)}
	}
	for i := range s.Prizes {
		p := &s.Prizes[i]
		a.Prizes[i] = SimulatedPrize{
			Prize: p.PrizeID, Count: p.Count, Share: p.Share, Expected: p.Expected,
			Remaining: unlessEndless(p.Remaining, p.IsEndless),
		}
		if p.Z != nil {
			z := finite(*p.Z)
			a.Prizes[i].Z = &z
		}
		if p.SoldOutAfter > 0 {
			a.Prizes[i].SoldOutAfter, a.Prizes[i].SoldOutDay = &p.SoldOutAfter, &p.SoldOutDay
			a.Prizes[i].SoldOutAt = ShowTimeOrNull(p.SoldOutAt)
		}
	}
	if g := s.Guarantee; g != nil {
		a.Guarantee = &SimulatedGuarantee{g.Wins, g.Rate, g.Expected, finite(g.Z)}
	}
	return a
}

// isUnlikely reports whether a share is further from its mean than chance explains.
func isUnlikely(s *odds.Simulated) bool {
	if g := s.Guarantee; g != nil && math.Abs(g.Z) > zMax {
		return true
	}
	return slices.ContainsFunc(s.Prizes, func(p odds.SimulatedPrize) bool { return p.Z != nil && math.Abs(*p.Z) > zMax })
}

// finite limits a distance to numbers that JSON can represent. If only one outcome is
// possible, the distance of any other outcome is infinite.
func finite(z float64) float64 { return max(-math.MaxFloat64, min(z, math.MaxFloat64)) }
