package lockmode

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	backoffMin = time.Millisecond
	backoffMax = 50 * time.Millisecond
)

// backoff waits before attempt n+1, or until ctx ends: a random time up to a bound that
// doubles with each attempt, so that attempts that collided do not meet again. This is
// "full jitter" of Marc Brooker, "Exponential Backoff And Jitter", 2015.
func backoff(ctx context.Context, n int) {
	bound := min(backoffMax, backoffMin<<min(n, 10))
	timer := time.NewTimer(rand.N(bound))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
