package api

import (
	"fmt"
	"math"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
)

// zMax is the distance from an expectation, in standard deviations, that chance does
// not explain.
const zMax = 5

// Simulated is the result of a simulation, as JSON.
type Simulated struct {
	Draws     int64               `json:"draws"`
	Prizes    []SimulatedPrize    `json:"prizes"`
	Redirects map[draw.Why]int64  `json:"redirects"`
	Refusals  map[draw.Code]int64 `json:"refusals"`
	Spent     string              `json:"spent"`
	// Unlikely means that chance does not explain a share.
	Unlikely bool `json:"unlikely"`
	// Failed are the items of the agenda that could not be carried out.
	Failed    []draw.ItemDone     `json:"failed,omitempty"`
	Guarantee *SimulatedGuarantee `json:"guarantee,omitempty"`
}

// SimulatedPrize is the result for one prize; null is what is unknown, or did not
// happen.
type SimulatedPrize struct {
	Prize        string   `json:"prize"`
	Count        int64    `json:"count"`
	Share        float64  `json:"share"`
	Expected     *float64 `json:"expected"`
	Z            *float64 `json:"z"`
	SoldOutAfter *int64   `json:"sold_out_after"`
}

// SimulatedGuarantee compares the wins under a guarantee with their mean.
type SimulatedGuarantee struct {
	Wins     int64   `json:"wins"`
	Rate     float64 `json:"rate"`
	Expected float64 `json:"expected"`
	Z        float64 `json:"z"`
}

// ShowSimulated shows a simulation.
func ShowSimulated(s *odds.Simulated) Simulated {
	a := Simulated{
		Draws: s.Draws, Prizes: make([]SimulatedPrize, len(s.Prizes)), Redirects: s.Redirects, Refusals: s.Refusals,
		Spent: fmt.Sprintf("%d.%02d", s.Spent/100, s.Spent%100), Unlikely: isUnlikely(s), Failed: s.Failed,
	}
	for i := range s.Prizes {
		p := &s.Prizes[i]
		a.Prizes[i] = SimulatedPrize{Prize: p.PrizeID, Count: p.Count, Share: p.Share, Expected: p.Expected}
		if p.Z != nil {
			z := finite(*p.Z)
			a.Prizes[i].Z = &z
		}
		if p.SoldOutAfter > 0 {
			a.Prizes[i].SoldOutAfter = &p.SoldOutAfter
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

// finite limits a distance to what JSON can represent: if the mean leaves no choice,
// any other outcome is infinitely far.
func finite(z float64) float64 { return max(-math.MaxFloat64, min(z, math.MaxFloat64)) }
