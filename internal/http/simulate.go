package http

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/http/gate"
)

// Simulated reads the data that simulations begin with.
type Simulated interface {
	// Present reads one state of a pool, for a simulation that begins at the time at. Its
	// rules are draft, or those in force if draft is nil; it has at most itemsMax open
	// items.
	Present(ctx context.Context, poolID string, at time.Time, draft *draw.Rules, itemsMax int) (odds.Present, error)
}

const (
	// simulatedMax is the maximum number of draws of a simulation: that many draws take
	// some seconds. simulatedUsersMax is the maximum number of users, which take memory.
	// The command drawsvc simulate runs larger simulations.
	simulatedMax      = 1_000_000
	simulatedUsersMax = 300_000
	// simulatedPrizesMax is the maximum number of prizes of a pool that is simulated.
	// simulatedItemsMax is the maximum number of open items of its agenda; hidden items do
	// not count.
	simulatedPrizesMax = 10_000
	simulatedItemsMax  = 100_000
	// simulatedSpanMax is the maximum length of the simulated clock between from and to.
	simulatedSpanMax = 366 * 24 * time.Hour
)

// errOutranked ends a simulation when a call of a higher rank wants to run one.
var errOutranked = draw.Errorf(draw.CodeOverloaded, "a simulation of a token of a higher rank took the place of this one")

// simulation answers GET /admin/pools/{pool}/simulation: many draws in memory, from the
// pool's present state. Nothing is written.
func (s *Server) simulation(c call) error { return s.simulate(c, nil, nil) }

// simulateDraft answers POST /admin/pools/{pool}/simulation: a simulation under the
// rules of the body, which are not put in force.
func (s *Server) simulateDraft(c call) error {
	draft, document, err := s.readRules(c)
	if err != nil {
		return err
	}
	return s.simulate(c, draft, document)
}

// simulate answers with a run under a draft of rules, or under those in force if draft is
// nil. It runs as long as the caller waits, at most for the timeout of an audit.
func (s *Server) simulate(c call, draft *draw.Rules, document []byte) error {
	run, hasAgenda, err := c.simulationWanted()
	if err != nil {
		return err
	}
	ctx, cancel := c.wholeLog()
	defer cancel()
	held, done, ok := s.bounds.Simulation.Take(ctx, gate.RankOf(c.caller.Role), errOutranked)
	if !ok {
		return draw.Errorf(draw.CodeOverloaded, "a simulation runs already: an instance runs one at a time")
	}
	leave := sync.OnceFunc(done)
	defer leave() // also if the run panics
	body, err := s.simulated(held, c, run, draft, hasAgenda)
	outranked := errors.Is(context.Cause(held), errOutranked)
	leave()
	switch {
	case err == nil:
		return c.writeEncoded(body)
	case outranked:
		return errOutranked
	case errors.Is(err, context.DeadlineExceeded):
		return draw.Wrap(draw.CodeOverloaded, err, "the simulation did not end in time; the command drawsvc simulate has no limit")
	}
	return rules.Place(err, document)
}

// simulated reads the pool while it holds a place among the calls that use the database.
// It gives the place back before it runs the simulation. It returns the encoded answer.
func (s *Server) simulated(ctx context.Context, c call, run odds.Simulation, draft *draw.Rules, hasAgenda bool) ([]byte, error) {
	leftOut, err := placedIn(ctx, c, func() (int, error) { return s.readSimulated(ctx, c, &run, draft, hasAgenda) })
	if err != nil {
		return nil, err
	}
	run.Stop = func() error { return context.Cause(ctx) }
	simulated, err := odds.Simulate(run)
	if err != nil {
		return nil, err
	}
	answer := api.ShowSimulated(&simulated)
	answer.Hidden = leftOut
	return encodeJSON(answer)
}

// readSimulated reads what a run needs of the pool. It returns how many items of the
// agenda are left out, since the caller may not see them.
func (s *Server) readSimulated(ctx context.Context, c call, run *odds.Simulation, draft *draw.Rules, hasAgenda bool) (leftOut int, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.RequestTimeout)
	defer cancel()
	itemsMax := 0
	if hasAgenda {
		itemsMax = simulatedItemsMax + 1
	}
	present, err := s.Store.Present(ctx, c.param("pool"), run.From, draft, itemsMax)
	switch {
	case err != nil:
		return 0, err
	case len(present.Pool.Prizes) > simulatedPrizesMax:
		return 0, draw.Errorf(draw.CodeInvalidRequest,
			"the pool has more than %d prizes; the command drawsvc simulate has no limit", simulatedPrizesMax)
	case len(present.Items) > simulatedItemsMax:
		return 0, draw.Errorf(draw.CodeInvalidRequest,
			"the agenda has more than %d open items; the command drawsvc simulate has no limit", simulatedItemsMax)
	}
	run.Pool.Prizes, run.Pool.Rules, run.SpentBefore = present.Pool.Prizes, present.Rules, present.SpentBefore
	all := len(present.Items)
	visible := c.visibleItems(present.Items)
	for i := range visible {
		if visible[i].Hidden != nil {
			run.Hidden = append(run.Hidden, *visible[i].Hidden)
			continue
		}
		if visible[i].Kind == draw.ItemState {
			run.Pool.State = present.Pool.State // otherwise a pool that is not open yet would give nothing
		}
		run.Agenda = append(run.Agenda, visible[i])
	}
	return all - len(visible), nil
}

// simulationWanted reads which run is requested. With from or to, the run simulates the
// campaign with its agenda.
func (c call) simulationWanted() (run odds.Simulation, hasAgenda bool, err error) {
	var wanted [4]int64
	for i, p := range []struct {
		name        string
		most, usual int64
	}{{"draws", simulatedMax, 10_000}, {"users", simulatedUsersMax, 1000}, {"rate", 1_000_000, 50}, {"seed", math.MaxInt64, 1}} {
		if wanted[i], err = c.number(p.name, 1, p.most, p.usual); err != nil {
			return run, false, err
		}
	}
	run = odds.Simulation{
		Draws: int(wanted[0]), Users: int(wanted[1]), Rate: float64(wanted[2]), Seed: uint64(wanted[3]),
		From: time.Now().UTC().Truncate(draw.TimeStep),
	}
	hasAgenda = slices.ContainsFunc([]string{"from", "to"}, c.query.Has)
	from, err := c.time("from")
	if err != nil {
		return run, false, err
	}
	if !from.IsZero() {
		run.From = from.UTC().Truncate(draw.TimeStep)
	}
	to, err := c.time("to")
	if err != nil || !c.query.Has("to") {
		return run, hasAgenda, err
	}
	switch span := to.Sub(run.From); {
	case c.query.Has("rate"):
		return run, false, draw.Errorf(draw.CodeInvalidRequest, "to and rate exclude each other: draws are spread evenly from from to to")
	case span < time.Second || span > simulatedSpanMax:
		return run, false, draw.Errorf(draw.CodeInvalidRequest, "to must be 1 second to 366 days after from, which is now unless it is given")
	default:
		run.Rate = float64(run.Draws) / span.Seconds()
	}
	return run, hasAgenda, nil
}
