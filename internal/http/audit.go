package http

import (
	"context"
	"errors"
	"fmt"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Auditor holds the rows of a pool against each other.
type Auditor interface {
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

// audit answers GET /admin/pools/{pool}/audit. It reads every row of the
// pool and so gets more time than other calls.
func (s *Server) audit(c call) error {
	ctx, cancel := c.wholeLog()
	defer cancel()
	a, err := placed(ctx, c, func() (draw.Audit, error) { return s.Store.Audit(ctx, c.param("pool")) })
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = &draw.Error{Code: draw.CodeStoreUnavailable, Err: err, Detail: fmt.Sprintf(
			"the audit took longer than %s; the command drawsvc audit has no limit", s.limits.audit)}
	}
	if err != nil {
		return err
	}
	return c.writeJSON(api.ShowAudit(&a))
}
