package http

import (
	nethttp "net/http"
	"strconv"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/problem"
)

// fail answers with the problem of err. The cause is kept for the log. If an answer has
// begun, it is cut: it must not seem complete.
func (c call) fail(err error) {
	s, g := c.server, c.gin
	api.KeepFailure(g.Request, err)
	e := problem.Named(g.Request.Method, err)
	p, known := s.problems[e.Code]
	if !known {
		e = &draw.Error{Code: draw.CodeInternal, Detail: "the service failed; its log says why", Err: err}
		p = s.problems[draw.CodeInternal]
	}
	_ = g.Error(e) // for the request log
	s.metrics.refusals[e.Code].Inc()
	if g.Writer.Written() {
		panic(nethttp.ErrAbortHandler)
	}
	h := g.Writer.Header()
	h["Content-Type"] = []string{"application/problem+json"}
	if after := problem.RetryAfter(p, e); after != "" {
		h["Retry-After"] = []string{after}
	}
	if e.Code == problem.CodeUnauthorized {
		h.Set("WWW-Authenticate", gate.Challenge(g.Request.Header))
	}
	if e.Code == draw.CodeDraining {
		h.Set("Connection", "close") // the next attempt should reach another instance
	}
	if e.Code == api.CodeBodyTooLarge || e.Code == problem.CodeUnsupportedMediaType || e.Code == problem.CodeRequestTimeout {
		c.leaveBody()
	}
	out := s.buffer()
	defer s.buffers.Put(out)
	*out = problem.Append((*out)[:0], p, e, c.outcome(p, e))
	if c.leavesBody() { // sent before the handler ends, so that net/http does not compute its length
		c.write(p.Status, *out)
		return
	}
	c.writeShort(p.Status, *out)
}

// outcome returns what is known about a refused draw: "none" if the log does not have it.
// It returns "unknown" if a draw with a key is refused before the log was read, because
// an earlier request may have made it. It returns "" for calls that do not draw.
func (c call) outcome(p problem.Problem, e *draw.Error) string {
	switch {
	case !c.route.draws():
		return ""
	case p.Unknown, e.KeyUnasked, !c.gin.GetBool(reachedDrawer) && c.mayHaveKey():
		return "unknown"
	}
	return "none"
}

func (c call) mayHaveKey() bool {
	if may, isRead := c.gin.Get(mayHaveKey); isRead {
		return may.(bool)
	}
	return c.server.mayHaveKey(c.gin.Request.Header)
}

type explanationAnswer struct {
	Type    string    `json:"type"`
	Code    draw.Code `json:"code"`
	Title   string    `json:"title"`
	Status  int       `json:"status"`
	Outcome string    `json:"outcome"`
	// RetryAfter is the value of Retry-After, in seconds; 0 if it is not sent.
	RetryAfter int    `json:"retry_after,omitzero"`
	Meaning    string `json:"meaning"`
	Remedy     string `json:"remedy"`
}

// problem answers GET /problems/{code}.
func (s *Server) problem(c call) error {
	code := draw.Code(c.param("code"))
	p, known := s.problems[code]
	if !known {
		return draw.Errorf(draw.CodeNotFound, "no problem has the code %q", code)
	}
	outcome := "none"
	if p.Unknown {
		outcome = "unknown"
	}
	wait, _ := strconv.Atoi(p.RetryAfter) // "" if it is not sent
	e := problem.Explanations()[code]
	return c.writeJSON(explanationAnswer{problem.Type + string(code), code, p.Title, p.Status, outcome, wait, e.Meaning, e.Remedy})
}
