package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
)

// AuditName is the name of the job that audits every pool.
const AuditName = "audit"

// Audited is the database that the audit reads.
type Audited interface {
	// PoolIDs returns the ids of all pools. The audit then reads the prizes of one pool
	// at a time.
	PoolIDs(ctx context.Context) ([]string, error)
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

// AuditReport is the job's last report, as JSON.
type AuditReport struct {
	OK bool `json:"ok"`
	// Pools is the number of audited pools, Violations the number of their violations.
	Pools      int   `json:"pools"`
	Violations int64 `json:"violations"`
	// Broken lists the pools with violations, at most BrokenMax.
	Broken []BrokenPool `json:"broken"`
}

// BrokenPool is a pool with violations, and the first of these violations.
type BrokenPool struct {
	Pool       string `json:"pool"`
	Version    int64  `json:"version"`
	Violations int64  `json:"violations"`
	First      string `json:"first"`
}

// BrokenMax is the maximum number of pools that a report names.
const BrokenMax = 100

// auditMax is the maximum time for an audit of all pools.
const auditMax = 6 * time.Hour

// Audit returns the job that audits every pool every 15 minutes. Its report contains the
// violations. A run fails only if the rows cannot be read.
func Audit(store Audited) Definition {
	return Definition{
		Name: AuditName, Schedule: "every 15m", Per: PerRun, Max: auditMax,
		Do: func(ctx context.Context, _ Run) ([]byte, error) {
			report, err := auditAll(ctx, store)
			if err != nil {
				return nil, err
			}
			return json.Marshal(report)
		},
	}
}

func auditAll(ctx context.Context, store Audited) (AuditReport, error) {
	report := AuditReport{OK: true, Broken: []BrokenPool{}}
	pools, err := store.PoolIDs(ctx)
	if err != nil {
		return report, err
	}
	for _, id := range pools {
		a, err := store.Audit(ctx, id)
		if draw.CodeOf(err) == draw.CodePoolNotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return report, fmt.Errorf("audit of pool %s: %w", id, err)
		}
		report.Pools++
		if a.OK() {
			continue
		}
		report.OK = false
		report.Violations += a.Found
		if len(report.Broken) < BrokenMax {
			v := a.Violations[0]
			report.Broken = append(report.Broken, BrokenPool{a.PoolID, a.Version, a.Found, v.Rule + ": " + v.Detail})
		}
	}
	fault.At(fault.InRun)
	return report, nil
}
