package http

import (
	"strconv"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/problem"
)

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
