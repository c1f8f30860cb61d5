package http

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
)

const (
	// simulatedMax is the most draws, and the most users, of a simulation; a
	// larger one is for the command. It takes about a second.
	simulatedMax = 100_000
	// simulatedPrizesMax is the most prizes of a pool that is simulated.
	simulatedPrizesMax = 10_000
	// zMax is the distance from an expectation, in standard deviations, that
	// chance does not explain.
	zMax = 5
)

// SimulatedAnswer is what came of a simulation, as JSON.
type SimulatedAnswer struct {
	Draws     int64                  `json:"draws"`
	Prizes    []SimulatedPrizeAnswer `json:"prizes"`
	Redirects map[draw.Why]int64     `json:"redirects"`
	Refusals  map[draw.Code]int64    `json:"refusals"`
	Spent     string                 `json:"spent"`
	// Unlikely says that chance does not explain a share.
	Unlikely bool `json:"unlikely"`
	// Failed are the items of the agenda that could not be done.
	Failed    []draw.ItemDone           `json:"failed,omitempty"`
	Guarantee *SimulatedGuaranteeAnswer `json:"guarantee,omitempty"`
}

// SimulatedPrizeAnswer is what it did with one prize; null is what is not known,
// or did not happen.
type SimulatedPrizeAnswer struct {
	Prize        string   `json:"prize"`
	Count        int64    `json:"count"`
	Share        float64  `json:"share"`
	Expected     *float64 `json:"expected"`
	Z            *float64 `json:"z"`
	SoldOutAfter *int64   `json:"sold_out_after"`
}

// SimulatedGuaranteeAnswer compares the wins under a guarantee with their mean.
type SimulatedGuaranteeAnswer struct {
	Wins     int64   `json:"wins"`
	Rate     float64 `json:"rate"`
	Expected float64 `json:"expected"`
	Z        float64 `json:"z"`
}

// NewSimulated returns the answer that shows a simulation.
func NewSimulated(s *odds.Simulated) SimulatedAnswer {
	a := SimulatedAnswer{
		Draws: s.Draws, Prizes: make([]SimulatedPrizeAnswer, len(s.Prizes)), Redirects: s.Redirects, Refusals: s.Refusals,
		Spent: fmt.Sprintf("%d.%02d", s.Spent/100, s.Spent%100), Unlikely: IsUnlikely(s), Failed: s.Failed,
	}
	for i := range s.Prizes {
		p := &s.Prizes[i]
		a.Prizes[i] = SimulatedPrizeAnswer{Prize: p.PrizeID, Count: p.Count, Share: p.Share, Expected: p.Expected}
		if p.Z != nil {
			z := finite(*p.Z)
			a.Prizes[i].Z = &z
		}
		if p.SoldOutAfter > 0 {
			a.Prizes[i].SoldOutAfter = &p.SoldOutAfter
		}
	}
	if g := s.Guarantee; g != nil {
		a.Guarantee = &SimulatedGuaranteeAnswer{g.Wins, g.Rate, g.Expected, finite(g.Z)}
	}
	return a
}

// IsUnlikely says that a share is further from its mean than chance explains.
func IsUnlikely(s *odds.Simulated) bool {
	if g := s.Guarantee; g != nil && math.Abs(g.Z) > zMax {
		return true
	}
	return slices.ContainsFunc(s.Prizes, func(p odds.SimulatedPrize) bool { return p.Z != nil && math.Abs(*p.Z) > zMax })
}

// finite keeps a distance within what JSON can say: where the mean leaves no
// choice, any other outcome is infinitely far.
func finite(z float64) float64 { return max(-math.MaxFloat64, min(z, math.MaxFloat64)) }

// simulation answers GET /admin/pools/{pool}/simulation: many draws in memory,
// from where the pool stands. Nothing is written.
func (s *Server) simulation(ctx context.Context, c call) (SimulatedAnswer, error) {
	return s.simulate(ctx, c, nil)
}

// simulateDraft answers POST /admin/pools/{pool}/simulation: the same under the
// rules of the body, which are in force nowhere.
func (s *Server) simulateDraft(c call) error {
	draft, err := s.readRules(c)
	if err != nil {
		return err
	}
	return reads(func(ctx context.Context, c call) (SimulatedAnswer, error) { return s.simulate(ctx, c, draft) })(c)
}

// simulate draws under a draft of rules, or for nil under those in force.
func (s *Server) simulate(ctx context.Context, c call, draft *draw.Rules) (SimulatedAnswer, error) {
	run, err := c.simulationWanted()
	if err != nil {
		return SimulatedAnswer{}, err
	}
	done, err := c.take(s.bounds.simulations, 1, "a simulation runs already, which is the most at once")
	if err != nil {
		return SimulatedAnswer{}, err
	}
	defer done()
	pool, err := s.Reader.Pool(ctx, c.param("pool"))
	if err != nil {
		return SimulatedAnswer{}, err
	}
	if len(pool.Prizes) > simulatedPrizesMax {
		return SimulatedAnswer{}, draw.Errorf(draw.CodeInvalidRequest,
			"the pool has more than %d prizes; the command drawsvc simulate has no limit", simulatedPrizesMax)
	}
	run.Pool.Prizes, run.Pool.Rules = pool.Prizes, draft
	if draft == nil && pool.RulesVersion != 0 { // the rules of a version never change, so both are of one state
		ruling, err := s.Ruler.Rules(ctx, pool.ID, pool.RulesVersion)
		if err != nil {
			return SimulatedAnswer{}, err
		}
		run.Pool.Rules = ruling.Rules
	}
	simulated, err := odds.Simulate(run)
	return NewSimulated(&simulated), err
}

// simulationWanted reads how many draws the call asks for.
func (c call) simulationWanted() (odds.Simulation, error) {
	run := odds.Simulation{From: time.Now().UTC().Truncate(time.Microsecond)}
	var wanted [4]int64
	for i, p := range []struct {
		name        string
		most, usual int64
	}{{"draws", simulatedMax, 10_000}, {"users", simulatedMax, 1000}, {"rate", 1_000_000, 50}, {"seed", math.MaxInt64, 1}} {
		var err error
		if wanted[i], err = c.number(p.name, 1, p.most, p.usual); err != nil {
			return run, err
		}
	}
	run.Draws, run.Users, run.Rate, run.Seed = int(wanted[0]), int(wanted[1]), float64(wanted[2]), uint64(wanted[3])
	return run, nil
}
