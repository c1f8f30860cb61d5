package http

import (
	"bytes"
	"context"
	"math"
	"strconv"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// Ruler keeps the rules of pools.
type Ruler interface {
	// Rules returns the rules of a version, or those in force for version 0.
	Rules(ctx context.Context, poolID string, version int64) (draw.Ruling, error)
	// SetRules puts rules in force; nil removes them. If versions is not nil, it refuses to
	// do so unless the rules in force have one of these versions. [draw.AnyRules] stands for
	// all versions.
	SetRules(ctx context.Context, poolID string, rules *draw.Rules, versions []int64, actor string) (draw.Ruling, error)
}

// Odds states the chances of a pool's next draw.
type Odds interface {
	// Odds returns the odds of a user. If userID is "", they are those of a user without
	// turns. If the draw would be refused, the error has the refusal's code.
	Odds(ctx context.Context, poolID, userID string) (odds.Statement, error)
	// HadMoments reports whether the agenda of a pool ever held a winning moment.
	HadMoments(ctx context.Context, poolID string) (bool, error)
}

// Users returns what users have used of their limits in pools whose rules count draws or
// wins. For other pools both methods return the error CodeUserNotCounted.
type Users interface {
	Standing(ctx context.Context, poolID, userID string) (urn.Standing, error)
	// UserAwards returns at most limit of a user's awards that the rules have
	// counted, with a version above after, in order of version.
	UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error)
}

// showRules returns the answer that shows rules; its tag is their version.
func (c call) showRules(r *draw.Ruling, of *draw.Pool) api.Rules {
	c.gin.Writer.Header().Set("ETag", strconv.Quote(strconv.FormatInt(r.Version, 10)))
	return api.ShowRules(r, of)
}

// rules answers GET /admin/pools/{pool}/rules.
func (s *Server) rules(ctx context.Context, c call) (api.Rules, error) {
	version, err := c.number("version", 1, math.MaxInt64, 0)
	if err != nil {
		return api.Rules{}, err
	}
	pool, err := s.Store.Pool(ctx, c.param("pool"))
	if err != nil {
		return api.Rules{}, err
	}
	found, err := s.Store.Rules(ctx, pool.ID, version)
	if err != nil {
		return api.Rules{}, err
	}
	return c.showRules(&found, &pool), nil
}

// checkRules answers POST /admin/pools/{pool}/rules with the rules that PUT would put
// in force. Nothing is written.
func (s *Server) checkRules(c call) error {
	draft, document, err := s.readRules(c)
	if err != nil {
		return err
	}
	return reads(func(ctx context.Context, c call) (api.CheckedRules, error) {
		pool, err := s.Store.Pool(ctx, c.param("pool"))
		if err != nil {
			return api.CheckedRules{}, err
		}
		if err := draft.Check(pool.Prizes); err != nil {
			return api.CheckedRules{}, rules.Place(err, document)
		}
		return api.ShowChecked(draft, &pool), nil
	})(c)
}

// putRules answers PUT /admin/pools/{pool}/rules; the body is the document.
func (s *Server) putRules(c call) error {
	wanted, document, err := s.readRules(c)
	if err != nil {
		return err
	}
	versions := ifMatch(c.gin.Request.Header, []int64{draw.AnyRules})
	return reads(func(ctx context.Context, c call) (api.Rules, error) {
		set, err := s.setRules(ctx, c, wanted, versions)
		return set, rules.Place(err, document)
	})(c)
}

// readRules reads a body that is a rules document. It also returns the body, so that
// errors found later can name their place in it.
func (s *Server) readRules(c call) (*draw.Rules, []byte, error) {
	r := c.gin.Request
	if err := checkContentType(r.Header, "application/json"); err != nil {
		return nil, nil, err
	}
	buf := s.buffer()
	defer s.buffers.Put(buf)
	var err error
	if *buf, err = readBody(r, (*buf)[:0], draw.RulesMax); err != nil {
		return nil, nil, err
	}
	document := bytes.Clone(*buf)
	parsed, err := rules.Parse(document)
	return parsed, document, err
}

// deleteRules answers DELETE /admin/pools/{pool}/rules. For a pool that never had rules
// it answers 404, unless If-Match names another version.
func (s *Server) deleteRules(ctx context.Context, c call) (api.Rules, error) {
	return s.setRules(ctx, c, nil, ifMatch(c.gin.Request.Header, nil))
}

func (s *Server) setRules(ctx context.Context, c call, wanted *draw.Rules, versions []int64) (api.Rules, error) {
	pool, err := s.Store.Pool(ctx, c.param("pool")) // read before the change, because nothing may fail after it
	if err != nil {
		return api.Rules{}, err
	}
	set, err := s.Store.SetRules(ctx, pool.ID, wanted, versions, c.actor())
	switch {
	case err != nil:
		return api.Rules{}, err
	case set.Version == 0:
		return api.Rules{}, draw.Errorf(draw.CodeNotFound, "pool %q has no rules", c.param("pool"))
	}
	return c.showRules(&set, &pool), nil
}

// encodeOdds encodes the answer to GET /pools/{pool}/odds, if the rules allow players to
// read them. The odds follow from the pool's state and, if the rules have a budget with
// a window, from the time.
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
	found, end, err := readPage(ctx, c, "pool", read, func(a *draw.Award) int64 { return a.Version })
	return api.Awards{Awards: api.ShowEach(found, api.ShowAward), End: end}, err
}
