package lockertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// waiters is the number of waiting instances when their order and their wake-ups are
// measured.
const waiters = 4

// queued makes instances wait for a held lock, one after another. It returns their
// indexes in the order in which they got the lock. settled, if not nil, runs before the
// release, and again while the first of them holds the lock.
func queued(b *bench, locks []*opened, settled func(served int) error) ([]int, error) {
	served := make(chan int)
	done := make(chan error, len(locks))
	failed := make(chan error, len(locks))
	first := make(chan struct{})
	err := behind(b, func() error {
		for n, l := range locks {
			go func() {
				err := l.WithLock(b.ctx, b.key, func(context.Context, int64) error {
					served <- n
					select {
					case <-first:
					case <-b.ctx.Done():
					}
					return nil
				})
				if err != nil {
					failed <- fmt.Errorf("waiter %d: %w", n, err)
				}
				done <- err
			}()
			time.Sleep(30 * time.Millisecond)
		}
		if settled == nil {
			return nil
		}
		return settled(-1)
	})
	var order []int
	for range locks {
		select {
		case n := <-served:
			order = append(order, n)
		case err := <-failed:
			return nil, err
		case <-b.ctx.Done():
			return nil, b.ctx.Err()
		}
		if len(order) == 1 {
			if settled != nil {
				err = errors.Join(err, settled(order[0]))
			}
			close(first)
		}
	}
	for range locks {
		err = errors.Join(err, <-done)
	}
	return order, err
}

// orderOfService measures whether the waiters get the lock in the order of their arrival.
// That is not a promise.
func orderOfService(b *bench) error {
	locks, err := b.openAll(waiters, patience)
	if err != nil {
		return err
	}
	for _, l := range locks {
		if err := l.WithLock(b.ctx, b.key, nothing); err != nil { // so that it has connected before
			return err
		}
	}
	const runs = 3
	inOrder := 0
	for range runs {
		order, err := queued(b, locks, nil)
		if err != nil {
			return err
		}
		if slices.IsSorted(order) {
			inOrder++
		}
	}
	b.result.Runs, b.result.InOrder = runs, inOrder
	return nil
}

// handOver measures the time from the end of a hold to the beginning of the next, with
// one waiter.
func handOver(b *bench) error {
	locks, err := b.openAll(2, patience)
	if err != nil {
		return err
	}
	start := time.Now()
	var took []time.Duration
	for n := range 21 {
		holder, waiter := locks[n%2], locks[(n+1)%2]
		var left atomic.Int64
		done := make(chan error, 1)
		err := holder.WithLock(b.ctx, b.key, func(context.Context, int64) error {
			go func() {
				done <- waiter.WithLock(b.ctx, b.key, func(context.Context, int64) error {
					took = append(took, time.Since(start)-time.Duration(left.Load()))
					return nil
				})
			}()
			time.Sleep(20 * time.Millisecond)
			left.Store(int64(time.Since(start)))
			return nil
		})
		if err := errors.Join(err, <-done); err != nil {
			return err
		}
	}
	slices.Sort(took)
	b.result.HandOver = milliseconds(took[len(took)/2])
	if median := took[len(took)/2]; median > slack {
		return fmt.Errorf("%w: the next holder has to wait %v", errLate, median)
	}
	return nil
}
