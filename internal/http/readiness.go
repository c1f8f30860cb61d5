package http

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// readyMax is the longest that a check of readiness may take.
	readyMax = 2 * time.Second
	// readyFor is how long its result is the answer.
	readyFor = time.Second
)

// readiness keeps the result of the last check. One check is under way at a
// time, whatever the number of callers.
type readiness struct {
	check func(ctx context.Context) error
	turn  *semaphore.Weighted // whoever has it may read and write the rest
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
	// Others wait for the result: it does not end with the one who asks.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyMax)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}
