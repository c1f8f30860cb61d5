package http

import (
	"context"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

type rulesAnswer struct {
	Pool    string `json:"pool"`
	Version int64  `json:"version"`
	// SHA256 and Rules are null where the version removed the rules.
	SHA256 *string        `json:"sha256"`
	Actor  string         `json:"actor"`
	At     string         `json:"at"`
	Rules  jsontext.Value `json:"rules"`
}

func newRulesAnswer(r *draw.Ruling) rulesAnswer {
	a := rulesAnswer{Pool: r.PoolID, Version: r.Version, Actor: r.Actor, At: formatTime(r.At)}
	if r.Rules != nil {
		sum := r.Rules.SHA256()
		a.SHA256, a.Rules = &sum, jsontext.Value(r.Rules.Document())
	}
	return a
}

// showRules is the answer that shows rules, whose tag is their version.
func (c call) showRules(r *draw.Ruling) rulesAnswer {
	c.gin.Writer.Header().Set("ETag", strconv.Quote(strconv.FormatInt(r.Version, 10)))
	return newRulesAnswer(r)
}

// WriteRules writes rules as a line of JSON, as GET …/rules answers. Errors are
// those of w.
func WriteRules(w io.Writer, r *draw.Ruling) error { return writeLine(w, newRulesAnswer(r)) }

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// rules answers GET /admin/pools/{pool}/rules.
func (s *Server) rules(ctx context.Context, c call) (rulesAnswer, error) {
	version, err := c.number("version", 1, math.MaxInt64, 0)
	if err != nil {
		return rulesAnswer{}, err
	}
	found, err := s.Store.Rules(ctx, c.param("pool"), version)
	if err != nil {
		return rulesAnswer{}, err
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
	return reads(func(ctx context.Context, c call) (rulesAnswer, error) { return s.setRules(ctx, c, wanted, versions) })(c)
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
func (s *Server) deleteRules(ctx context.Context, c call) (rulesAnswer, error) {
	return s.setRules(ctx, c, nil, ifMatch(c.gin.Request.Header, nil))
}

func (s *Server) setRules(ctx context.Context, c call, wanted *draw.Rules, versions []int64) (rulesAnswer, error) {
	set, err := s.Store.SetRules(ctx, c.param("pool"), wanted, versions, c.actor())
	switch {
	case err != nil:
		return rulesAnswer{}, err
	case set.Version == 0:
		return rulesAnswer{}, draw.Errorf(draw.CodeNotFound, "pool %q has no rules", c.param("pool"))
	}
	return c.showRules(&set), nil
}

// ReadPool reads a pool as POST /admin/pools takes it. Its mode is not checked.
// Error: CodeInvalidRequest.
func ReadPool(document []byte) (draw.Pool, error) {
	var body poolBody
	if err := json.Unmarshal(document, &body, json.RejectUnknownMembers(true)); err != nil {
		return draw.Pool{}, draw.Errorf(draw.CodeInvalidRequest, "%s", decodeDetail(err))
	}
	return body.pool()
}

// kindOf is the kind of a prize as answers show it.
func kindOf(p *draw.Prize) draw.Kind {
	if p.IsWin() {
		return draw.KindPrize
	}
	return draw.KindBlank
}

// limitAnswer is a limit as the rules document has it; without per it is ever.
type limitAnswer struct {
	Of    draw.LimitOf `json:"of"`
	Prize string       `json:"prize,omitempty"`
	Max   int64        `json:"max"`
	Per   *string      `json:"per"`
}

func newLimit(l *draw.Limit) limitAnswer {
	a := limitAnswer{Of: l.Of, Prize: l.PrizeID, Max: l.Max}
	if !l.Per.IsEver() {
		per := l.Per.String()
		a.Per = &per
	}
	return a
}

// appendReached adds the members of a limit that was reached to a problem.
func appendReached(b []byte, r *draw.Reached) []byte {
	limit, _ := json.Marshal(newLimit(&r.Limit)) // strings and a number: cannot fail
	b = append(b, `,"limit":`...)
	b = append(b, limit...)
	if r.RetryAt.IsZero() {
		return append(b, `,"retry_at":null`...)
	}
	b = append(b, `,"retry_at":"`...)
	b = append(b, formatTime(r.RetryAt)...)
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
