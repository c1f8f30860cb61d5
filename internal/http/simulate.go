package http

import (
	"context"
	"math"
	"time"

	"drawsvc/internal/api"

	"drawsvc/internal/draw"
)

const (
	// simulatedMax is the most draws, and the most users, of a simulation; a
	// larger one is for the command. It takes about a second.
	simulatedMax = 100_000
	// simulatedPrizesMax is the most prizes of a pool that is simulated.
	simulatedPrizesMax = 10_000
)

// simulation answers GET /admin/pools/{pool}/simulation: many draws in memory,
// from where the pool stands. Nothing is written.
func (s *Server) simulation(ctx context.Context, c call) (api.Simulated, error) {
	return s.simulate(ctx, c, nil)
}

// simulateDraft answers POST /admin/pools/{pool}/simulation: the same under the
// rules of the body, which are in force nowhere.
func (s *Server) simulateDraft(c call) error {
	draft, err := s.readRules(c)
	if err != nil {
		return err
	}
	return reads(func(ctx context.Context, c call) (api.Simulated, error) { return s.simulate(ctx, c, draft) })(c)
}

// simulate draws under a draft of rules, or for nil under those in force.
func (s *Server) simulate(ctx context.Context, c call, draft *draw.Rules) (api.Simulated, error) {
	run, err := c.simulationWanted()
	if err != nil {
		return api.Simulated{}, err
	}
	done, err := c.take(s.bounds.simulations, 1, "a simulation runs already, which is the most at once")
	if err != nil {
		return api.Simulated{}, err
	}
	defer done()
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	if err != nil {
		return api.Simulated{}, err
	}
	if len(pool.Prizes) > simulatedPrizesMax {
		return api.Simulated{}, draw.Errorf(draw.CodeInvalidRequest,
			"the pool has more than %d prizes; the command drawsvc simulate has no limit", simulatedPrizesMax)
	}
	run.Pool.Prizes, run.Pool.Rules = pool.Prizes, draft
	if draft == nil && pool.RulesVersion != 0 { // the rules of a version never change, so both are of one state
		ruling, err := s.Store.Rules(ctx, pool.ID, pool.RulesVersion)
		if err != nil {
			return api.Simulated{}, err
		}
		run.Pool.Rules = ruling.Rules
	}
	simulated, err := draw.Simulate(run)
	return api.ShowSimulated(&simulated), err
}

// simulationWanted reads how many draws the call asks for.
func (c call) simulationWanted() (draw.Simulation, error) {
	run := draw.Simulation{From: time.Now().UTC().Truncate(time.Microsecond)}
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
