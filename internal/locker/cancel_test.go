package locker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker"
	"drawsvc/internal/locker/lockertest"
	"drawsvc/internal/servertest"
)

// silentMax is the maximum number of requests in one test that a busy lock service may
// leave without an answer.
const silentMax = 10

// longest is the maximum time after which a caller gives up.
const longest = 10 * time.Millisecond

// TestCallerGoneAtAnyMoment: a caller gives up before, while or just after its request
// reaches the lock service. Nothing remains that could later get the lock for this
// caller. When the holder releases the lock, the next caller gets it.
func TestCallerGoneAtAnyMoment(t *testing.T) {
	for _, s := range lockertest.Registered(t) {
		t.Run(s.Name(), func(t *testing.T) {
			parallel(t)
			s := s.On(t, s.Shared(t))
			s.TTL = time.Minute // a busy machine must not lose a lease
			open := func(wait time.Duration) locker.Lock {
				l, err := lockertest.Open(t.Context(), s, wait)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, l.Close()) })
				return l
			}
			holder, waiter, next := open(time.Minute), open(time.Minute), open(0)
			nothing := func(context.Context, int64) error { return nil }
			for _, l := range []locker.Lock{waiter, next} { // connecting takes long on a busy machine, so it is done first
				err := l.WithLock(t.Context(), "late", nothing)
				for n := 0; n < 30 && draw.CodeOf(err) == draw.CodeLockUnavailable; n++ {
					err = l.WithLock(t.Context(), "late", nothing)
				}
				require.NoError(t, err)
			}
			key, silent := "late", 0
			rounds := 50
			if servertest.Every() {
				rounds = 200
			}
			for n := 0; n < rounds; n++ {
				err := holder.WithLock(t.Context(), key, func(context.Context, int64) error {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*longest/time.Duration(rounds))
					defer cancel()
					if err := waiter.WithLock(ctx, key, nothing); !errors.Is(err, context.DeadlineExceeded) {
						return fmt.Errorf("wanted the context's error, got %w", err)
					}
					return nil
				})
				if err == nil {
					err = next.WithLock(t.Context(), key, nothing)
				}
				if draw.CodeOf(err) == draw.CodeLockUnavailable && silent < silentMax {
					silent++ // on a busy machine, the service may grant a request without answering it in time
					n, key = n-1, fmt.Sprint("late, ", silent)
					continue
				}
				require.NoError(t, err, "round %d: the lock is free and was not had", n)
			}
		})
	}
}
