package http

import (
	"context"
	"errors"
	"fmt"

	"drawsvc/internal/draw"
)

// Auditor holds the rows of a pool against each other.
type Auditor interface {
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

type auditAnswer struct {
	OK         bool               `json:"ok"`
	Pool       string             `json:"pool"`
	Version    int64              `json:"version"`
	Prizes     []prizeAuditAnswer `json:"prizes"`
	Violations []violationAnswer  `json:"violations"`
}

type prizeAuditAnswer struct {
	Prize      string `json:"prize"`
	Stocked    *int64 `json:"stocked"` // null: endless
	Issued     int64  `json:"issued"`
	Awards     int64  `json:"awards"`
	Remaining  *int64 `json:"remaining"`
	OverIssued int64  `json:"over_issued"`
}

type violationAnswer struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
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
	return c.writeJSON(newAudit(&a))
}

func newAudit(a *draw.Audit) auditAnswer {
	return auditAnswer{
		a.OK(), a.PoolID, a.Version, each(a.Prizes, newPrizeAudit),
		each(a.Violations, func(v *draw.Violation) violationAnswer { return violationAnswer(*v) }),
	}
}

func newPrizeAudit(p *draw.PrizeAudit) prizeAuditAnswer {
	return prizeAuditAnswer{
		p.PrizeID, unlessEndless(p.Stocked, p.IsEndless), p.Issued, p.Awards, unlessEndless(p.Remaining, p.IsEndless), p.OverIssued,
	}
}
