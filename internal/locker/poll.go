package locker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// attempt requests a lock once. With errBusy it also returns the rest of the holder's
// term, 0 if that is unknown.
type attempt func(ctx context.Context) (l *lease, left time.Duration, err error)

// pace determines how often a lock service is polled: the delays double from the shortest
// to the longest.
type pace struct{ shortest, longest time.Duration }

// delay returns the n-th delay, counted from 0, with a random variation.
func (p pace) delay(n int) time.Duration {
	d := p.longest
	if n < 16 {
		d = min(p.shortest<<n, p.longest)
	}
	return d/2 + rand.N(d) //nolint:gosec // spreads load, guards nothing
}

// poll requests the lock at once. It repeats the request when wake fires, the holder's
// term ends, or a delay of p has passed. It ends when the lock is granted, the service
// fails, or the time until has come. wake may be nil.
func poll(ctx context.Context, until time.Time, p pace, wake <-chan struct{}, ask attempt) (*lease, error) {
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, left, err := ask(ctx)
		if !errors.Is(err, errBusy) {
			return l, err
		}
		remaining := time.Until(until)
		if remaining <= 0 {
			return nil, errBusy
		}
		wait := min(p.delay(n), remaining)
		if left > 0 {
			wait = min(wait, left+time.Millisecond)
		}
		if err := pause(ctx, wait, wake); err != nil {
			return nil, err
		}
	}
}

// pause waits for d, a wake-up or the end of ctx, whichever is first.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
