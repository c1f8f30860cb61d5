package locker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// fake is a lock service whose answers a test chooses. Its time is that of synctest.
type fake struct {
	renew    func(ctx context.Context) error
	age      time.Duration // the age of the leases that it grants
	acquired atomic.Int64
	renewed  atomic.Int64
	released atomic.Int64
}

func (f *fake) acquire(context.Context, string, time.Time) (*lease, error) {
	return &lease{
		token: f.acquired.Add(1),
		since: time.Now().Add(-f.age),
		renew: func(ctx context.Context) error {
			f.renewed.Add(1)
			if f.renew == nil {
				return nil
			}
			return f.renew(ctx)
		},
		release: func(context.Context) error { f.released.Add(1); return nil },
	}, nil
}

func (f *fake) ping(context.Context) error { return nil }
func (f *fake) close() error               { return nil }

func newGuard(f *fake) *guard {
	return &guard{
		backend: f,
		options: Options{TTL: 9 * time.Second, Wait: time.Second, Log: slog.New(slog.DiscardHandler)},
		queue:   newQueue(),
	}
}

// TestHungRenewalLoses: if a renewal hangs, the term still ends on time. The holder is
// notified before the lock service can grant the lock to another caller.
func TestHungRenewalLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{renew: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		began := time.Now()
		err := newGuard(f).WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
			<-ctx.Done()
			require.Less(t, time.Since(began), 9*time.Second)
			require.Greater(t, time.Since(began), 8*time.Second)
			require.Equal(t, draw.CodeLockUnavailable, draw.CodeOf(context.Cause(ctx)))
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 1, f.released.Load())
	})
}

// TestLostLeaseCancels: if a renewal reports that the lease is lost, the holder's context
// ends.
func TestLostLeaseCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{renew: func(context.Context) error { return errLost }}
		began := time.Now()
		_ = newGuard(f).WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
			<-ctx.Done()
			return nil
		})
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// TestFailedRenewalIsRepeated: a renewal that fails once is retried within the term.
func TestFailedRenewalIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.renew = func(context.Context) error {
			if f.renewed.Load()%2 == 1 {
				return errors.New("no answer")
			}
			return nil
		}
		err := newGuard(f).WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
			time.Sleep(time.Minute)
			return ctx.Err()
		})
		require.NoError(t, err)
	})
}

// TestCallerGoneLeaseStays: the caller's context ends while the work continues. The lease
// does not end, because work that has begun is committed under the lock.
func TestCallerGoneLeaseStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		ctx, cancel := context.WithCancel(t.Context())
		err := newGuard(f).WithLock(ctx, "k", func(ctx context.Context, _ int64) error {
			cancel()
			<-ctx.Done()
			time.Sleep(time.Minute + time.Second)
			require.EqualValues(t, 0, f.released.Load())
			require.EqualValues(t, 20, f.renewed.Load())
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 1, f.released.Load())
	})
}

// TestOldLeaseIsRenewedFirst: a lease whose term began long ago is renewed before it is
// used.
func TestOldLeaseIsRenewedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{age: time.Hour}
		require.NoError(t, newGuard(f).WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
			require.EqualValues(t, 1, f.renewed.Load())
			return ctx.Err()
		}))
		f.renew = func(context.Context) error { return errLost }
		err := newGuard(f).WithLock(t.Context(), "k", func(context.Context, int64) error {
			t.Error("it ran without a lease")
			return nil
		})
		require.Equal(t, draw.CodeLockUnavailable, draw.CodeOf(err))
		require.EqualValues(t, 2, f.released.Load())
	})
}

// TestPanicReleases: even if the holder's function panics, the lock is released, and the
// next caller gets it.
func TestPanicReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		g := newGuard(f)
		require.Panics(t, func() {
			_ = g.WithLock(t.Context(), "k", func(context.Context, int64) error { panic("on purpose") })
		})
		require.EqualValues(t, 1, f.released.Load())
		require.NoError(t, g.WithLock(t.Context(), "k", func(context.Context, int64) error { return nil }))
	})
}

// TestContextOutlivesHold: a context that outlives its hold is like any other context.
func TestContextOutlivesHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		g := newGuard(f)
		var left context.Context
		require.NoError(t, g.WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
			left = context.WithoutCancel(ctx)
			return nil
		}))
		require.NoError(t, g.WithLock(left, "k", func(_ context.Context, token int64) error {
			require.EqualValues(t, 2, token)
			return nil
		}))
	})
}

// TestReleaseWaitsForNested: a hold is released only after its nested holds.
func TestReleaseWaitsForNested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		g := newGuard(f)
		require.NoError(t, g.WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
			in := make(chan struct{})
			go func() {
				_ = g.WithLock(ctx, "k", func(context.Context, int64) error {
					close(in)
					time.Sleep(time.Second)
					require.EqualValues(t, 0, f.released.Load())
					return nil
				})
			}()
			<-in
			return nil
		}))
		require.EqualValues(t, 1, f.released.Load())
	})
}

// TestQueueBounds: callers wait for a holder, and are refused at their limit or when
// their context ends. A refused caller keeps no place in the queue.
func TestQueueBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		g := newGuard(f)
		require.NoError(t, g.WithLock(t.Context(), "k", func(context.Context, int64) error {
			began := time.Now()
			err := g.WithLock(t.Context(), "k", nil)
			require.Equal(t, draw.CodeContended, draw.CodeOf(err))
			require.Equal(t, time.Second, time.Since(began))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			require.Equal(t, context.DeadlineExceeded, g.WithLock(ctx, "k", nil))
			require.Equal(t, 1100*time.Millisecond, time.Since(began))
			return nil
		}))
		require.Empty(t, g.queue.lines)
		require.EqualValues(t, 1, f.acquired.Load())
	})
}
