package http

import (
	"context"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Ruler keeps the rules of pools.
type Ruler interface {
	// Rules returns those of a version, and those in force for version 0.
	Rules(ctx context.Context, poolID string, version int64) (draw.Ruling, error)
	// SetRules puts rules in force, nil for none. versions, where not nil, are
	// those that the rules in force may have, [draw.AnyRules] every one.
	SetRules(ctx context.Context, poolID string, rules *draw.Rules, versions []int64, actor string) (draw.Ruling, error)
}

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
	return draw.ParseRules(*buf)
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

// appendReached adds the members of a limit that was reached to a problem.
func appendReached(b []byte, r *draw.Reached) []byte {
	limit, _ := json.Marshal(api.ShowLimit(&r.Limit)) // strings and a number: cannot fail
	b = append(b, `,"limit":`...)
	b = append(b, limit...)
	if r.RetryAt.IsZero() {
		return append(b, `,"retry_at":null`...)
	}
	b = append(b, `,"retry_at":"`...)
	b = append(b, api.ShowTime(r.RetryAt)...)
	return append(b, '"')
}

// redirectAnswer says what the rules gave an award in place of; nothing is null.
type redirectAnswer struct {
	Drawn *string  `json:"drawn"`
	Why   draw.Why `json:"why"`
}

func newRedirect(r *draw.Redirect) *redirectAnswer {
	if r == nil {
		return nil
	}
	a := redirectAnswer{Why: r.Why}
	if r.Drawn != "" {
		a.Drawn = &r.Drawn
	}
	return &a
}
