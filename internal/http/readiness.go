package http

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// readyMax is the timeout of a check of readiness.
	readyMax = 2 * time.Second
	// readyFor is how long its result is used.
	readyFor = time.Second
)

// readiness keeps the result of the last check. Only one check runs at a time, for all
// callers.
type readiness struct {
	check func(ctx context.Context) error
	turn  *semaphore.Weighted // its holder may read and write the rest
	at    time.Time
	err   error
}

func newReadiness(check func(ctx context.Context) error) *readiness {
	return &readiness{check: check, turn: semaphore.NewWeighted(1)}
}

// ask returns the result of a check that is not older than readyFor.
func (r *readiness) ask(ctx context.Context) error {
	if err := r.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.turn.Release(1)
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	// Others wait for the result: the check does not end with the caller that began it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyMax)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}
