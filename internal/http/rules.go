package http

import (
	"context"
	"math"
	"strconv"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/rules"
)

// showRules is the answer that shows rules, whose tag is their version.
func (c call) showRules(r *draw.Ruling) api.Rules {
	c.gin.Writer.Header().Set("ETag", strconv.Quote(strconv.FormatInt(r.Version, 10)))
	return api.ShowRules(r)
}

// rules answers GET /admin/pools/{pool}/rules.
func (s *Server) rules(ctx context.Context, c call) (api.Rules, error) {
	version, err := c.number("version", 1, math.MaxInt64, 0)
	if err != nil {
		return api.Rules{}, err
	}
	found, err := s.Store.Rules(ctx, c.param("pool"), version)
	if err != nil {
		return api.Rules{}, err
	}
	return c.showRules(&found), nil
}

// putRules answers PUT /admin/pools/{pool}/rules, whose body is the document.
func (s *Server) putRules(c call) error {
	wanted, err := s.readRules(c)
	if err != nil {
		return err
	}
	versions := ifMatch(c.gin.Request.Header, []int64{draw.AnyRules})
	return reads(func(ctx context.Context, c call) (api.Rules, error) { return s.setRules(ctx, c, wanted, versions) })(c)
}

// readRules reads a body that is a rules document.
func (s *Server) readRules(c call) (*draw.Rules, error) {
	r := c.gin.Request
	if err := checkContentType(r.Header, "application/json"); err != nil {
		return nil, err
	}
	buf := s.buffer()
	defer s.buffers.Put(buf)
	var err error
	if *buf, err = readBody(r, (*buf)[:0], draw.RulesMax); err != nil {
		return nil, err
	}
	return rules.Parse(*buf)
}

// deleteRules answers DELETE /admin/pools/{pool}/rules, which without rules is 404
// whatever If-Match says.
func (s *Server) deleteRules(ctx context.Context, c call) (api.Rules, error) {
	return s.setRules(ctx, c, nil, ifMatch(c.gin.Request.Header, nil))
}

func (s *Server) setRules(ctx context.Context, c call, wanted *draw.Rules, versions []int64) (api.Rules, error) {
	set, err := s.Store.SetRules(ctx, c.param("pool"), wanted, versions, c.actor())
	switch {
	case err != nil:
		return api.Rules{}, err
	case set.Version == 0:
		return api.Rules{}, draw.Errorf(draw.CodeNotFound, "pool %q has no rules", c.param("pool"))
	}
	return c.showRules(&set), nil
}

// encodeOdds encodes the answer to GET /pools/{pool}/odds, where the rules say that
// players may read them. They follow from the pool's state and, where the rules have a
// budget of a window, from the time.
func (s *Server) encodeOdds(ctx context.Context, poolID string) ([]byte, error) {
	found, err := s.Store.Odds(ctx, poolID, "")
	if err == nil && !found.IsDisclosed {
		err = draw.Errorf(draw.CodeNotFound, "pool %q publishes no odds", poolID)
	}
	if err != nil {
		return nil, err
	}
	return encodeJSON(api.ShowOdds(&found))
}

func oddsOrRefusal(o *odds.Statement, err error) (any, error) {
	if refused, ok := api.ShowRefused(err); ok {
		return refused, nil
	}
	if err != nil {
		return nil, err
	}
	return api.ShowOdds(o), nil
}

// adminOdds answers GET /admin/pools/{pool}/odds.
func (s *Server) adminOdds(ctx context.Context, c call) (any, error) {
	userID := ""
	if c.query.Has("user") {
		userID = c.query.Get("user")
		if err := draw.CheckUser(userID); err != nil {
			return nil, err
		}
	}
	found, err := s.Store.Odds(ctx, c.param("pool"), userID)
	return oddsOrRefusal(&found, err)
}

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
	done, err := c.take(s.bounds.Simulations, 1, "a simulation runs already, which is the most at once")
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
	simulated, err := odds.Simulate(run)
	return api.ShowSimulated(&simulated), err
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

// user answers GET /pools/{pool}/users/{user}.
func (s *Server) user(ctx context.Context, c call) (api.User, error) {
	found, err := s.Store.Standing(ctx, c.param("pool"), c.param("user"))
	if err != nil {
		return api.User{}, err
	}
	return api.ShowUser(&found), nil
}

// userAwards answers GET /pools/{pool}/users/{user}/awards.
func (s *Server) userAwards(ctx context.Context, c call) (api.Awards, error) {
	read := func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error) {
		return s.Store.UserAwards(ctx, poolID, c.param("user"), after, limit)
	}
	found, next, err := readPage(ctx, c, "pool", read, func(a *draw.Award) int64 { return a.Version })
	return api.Awards{Awards: api.ShowEach(found, api.ShowAward), Next: next}, err
}
