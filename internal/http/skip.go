package http

import (
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// skipVersions answers POST /admin/pools/{pool}/skip.
func (s *Server) skipVersions(c call) error {
	var body api.Skip
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	if body.To == nil {
		return draw.Errorf(draw.CodeInvalidRequest, "to is missing: the last version to skip")
	}
	ctx, done, err := c.beginLong() // a million versions are a thousand transactions
	if err != nil {
		return err
	}
	defer done()
	skipped, err := s.Store.SkipVersions(ctx, c.param("pool"), *body.To, body.Reason, c.actor())
	if err != nil {
		return err
	}
	return c.writeJSON(api.Skipped{Pool: c.param("pool"), Skipped: skipped})
}
