package http

import (
	"context"
	nethttp "net/http"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// skipBody is the body of POST /admin/pools/{pool}/skip.
type skipBody struct {
	To     *int64 `json:"to"`
	Reason string `json:"reason,omitzero"`
}

type skipAnswer struct {
	Pool    string `json:"pool"`
	Skipped int64  `json:"skipped"`
}

// skipVersions answers POST /admin/pools/{pool}/skip.
func (s *Server) skipVersions(c call) error {
	var body skipBody
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
	return c.writeJSON(skipAnswer{c.param("pool"), skipped})
}

// SkipVersions records versions of a paused, committed pool as giving nothing. Errors:
// those of the store.
func (a *Admin) SkipVersions(ctx context.Context, poolID string, to int64, reason, _ string) (int64, error) {
	c := client.Call{Method: nethttp.MethodPost, Path: poolPath(poolID, "skip"), AttemptMax: logMax}
	done, err := send[skipAnswer](ctx, a, c, &skipBody{To: &to, Reason: reason})
	return done.Skipped, err
}
