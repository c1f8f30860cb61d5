package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"drawsvc/internal/draw"
)

// ClaimsName is the name of the job that ends awards whose deadline for a claim has
// passed.
const ClaimsName = "claims"

// Claimed reads and changes the pools whose awards the job ends.
type Claimed interface {
	// PoolsWithClaims returns the pools whose rules have, or had, claims.
	PoolsWithClaims(ctx context.Context) ([]string, error)
	// Expire ends the awards of a pool whose deadline has passed. It returns the number of
	// these awards, and of the units that returned to stock.
	Expire(ctx context.Context, poolID string) (expired, returned int, err error)
}

const (
	// claimsMax is the maximum time of a run.
	claimsMax = time.Hour
	// claimsStaleAfter is the StaleAfter of the job.
	claimsStaleAfter = time.Minute
)

// Claims returns the job that ends awards every minute. If a pool fails, the job
// continues with the others, and the run fails at its end.
func Claims(store Claimed) Definition {
	return Definition{
		Name: ClaimsName, Schedule: "every 1m", Per: PerRun, Max: claimsMax, StaleAfter: claimsStaleAfter,
		Do: func(ctx context.Context, _ Run) ([]byte, error) {
			pools, err := store.PoolsWithClaims(ctx)
			if err != nil {
				return nil, err
			}
			report := struct {
				Pools    int `json:"pools"`
				Expired  int `json:"expired"`
				Returned int `json:"returned"`
			}{}
			var first error
			for _, id := range pools {
				expired, returned, err := store.Expire(ctx, id)
				report.Expired, report.Returned = report.Expired+expired, report.Returned+returned
				if err == nil {
					report.Pools++
				} else if first == nil && draw.CodeOf(err) != draw.CodePoolNotFound { // a pool that is not found was deleted meanwhile
					first = fmt.Errorf("claims of pool %s: %w", id, err)
				}
			}
			if first != nil {
				return nil, first
			}
			return json.Marshal(report)
		},
	}
}
