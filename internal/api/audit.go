package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"drawsvc/internal/draw"
)

// Audit is the result of an audit of a pool.
type Audit struct {
	OK         bool         `json:"ok"`
	Pool       string       `json:"pool"`
	Version    int64        `json:"version"`
	Prizes     []PrizeAudit `json:"prizes"`
	Violations []Violation  `json:"violations"`
}

// PrizeAudit contains the counts of a prize in an audit.
type PrizeAudit struct {
	Prize      string `json:"prize"`
	Stocked    *int64 `json:"stocked"` // null: endless
	Issued     int64  `json:"issued"`
	Awards     int64  `json:"awards"`
	Remaining  *int64 `json:"remaining"`
	OverIssued int64  `json:"over_issued"`
}

// Violation is a broken rule.
type Violation struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// ShowAudit converts an audit to its response type.
func ShowAudit(a *draw.Audit) Audit {
	return Audit{
		a.OK(), a.PoolID, a.Version, ShowEach(a.Prizes, showPrizeAudit),
		ShowEach(a.Violations, func(v *draw.Violation) Violation { return Violation(*v) }),
	}
}

func showPrizeAudit(p *draw.PrizeAudit) PrizeAudit {
	return PrizeAudit{p.PrizeID, unlessEndless(p.Stocked, p.IsEndless), p.Issued, p.Awards, unlessEndless(p.Remaining, p.IsEndless), p.OverIssued}
}

// Found returns the number of violations: those in the answer, and those that the answer
// only counts.
func (a *Audit) Found() (found int64) {
	for i := range a.Violations {
		more := int64(1)
		_, _ = fmt.Sscanf(a.Violations[i].Detail, "and %d more", &more) // any other detail counts as one violation
		found += more
	}
	return found
}

// wholeLogMax bounds a request for which the service reads a whole log. It exceeds the
// service's own limit.
const wholeLogMax = 90 * time.Second

// Audit compares the rows of a pool with each other. Error: CodePoolNotFound.
func (c *Client) Audit(ctx context.Context, poolID string) (Audit, error) {
	call := newCall(http.MethodGet, poolPath(poolID, "audit"))
	call.AttemptMax = wholeLogMax
	return fetch[Audit](ctx, c, call)
}
