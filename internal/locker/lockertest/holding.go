package lockertest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// renewal: a hold may last for many leases, and nobody else gets the lock meanwhile.
func renewal(b *bench) error {
	h, err := b.processes[0].hold(0, b.key, patience)
	if err != nil {
		return err
	}
	for range 10 {
		select {
		case <-h.lostC:
			return fmt.Errorf("the holder was notified of a loss: %w", errNotRenewed)
		case <-time.After(b.TTL / 2):
		}
		if other, err := b.processes[1].hold(0, b.key, 0); err == nil {
			_ = other.release()
			return fmt.Errorf("another got in: %w", errNotRenewed)
		}
	}
	b.result.RenewedTerms = 5
	return h.release()
}

// reentrant: a nested hold in the holder's context begins at once, with the same token.
// The lock is free only after the outermost hold. Another context in the same process
// does not share the hold.
func reentrant(b *bench) error {
	locks, err := b.openAll(2, 0)
	if err != nil {
		return err
	}
	holder, other := locks[0], locks[1]
	outside := func() error {
		for _, l := range []*opened{holder, other} {
			if err := mustBeContended(l.WithLock(b.ctx, b.key, func(context.Context, int64) error { return nil })); err != nil {
				return err
			}
		}
		return nil
	}
	err = holder.WithLock(b.ctx, b.key, func(ctx context.Context, token int64) error {
		for range 2 {
			err := holder.WithLock(ctx, b.key, func(ctx context.Context, again int64) error {
				if again != token {
					return fmt.Errorf("token %d inside of %d", again, token)
				}
				return holder.WithLock(ctx, b.key, func(context.Context, int64) error { return outside() })
			})
			if err != nil {
				return err
			}
			if err := outside(); err != nil {
				return fmt.Errorf("after a nested hold: %w", err)
			}
		}
		return holder.WithLock(ctx, b.key+", another", func(context.Context, int64) error { return nil })
	})
	if err != nil {
		return err
	}
	b.result.Reentrant = true
	return other.WithLock(b.ctx, b.key, func(context.Context, int64) error { return nil })
}

// inProcessQueue: an instance serves its callers in the order of their arrival, whatever
// the lock service does.
func inProcessQueue(b *bench) error {
	l, err := b.open(patience)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var order []int
	errs := make(chan error, 5)
	err = l.WithLock(b.ctx, b.key, func(context.Context, int64) error {
		for n := range cap(errs) {
			go func() {
				errs <- l.WithLock(b.ctx, b.key, func(context.Context, int64) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, n)
					return nil
				})
			}()
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	for n, who := range order {
		if n != who {
			return fmt.Errorf("served in the order %v", order)
		}
	}
	return nil
}
