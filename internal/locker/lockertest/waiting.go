package lockertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// nothing is a holder's function that does nothing.
func nothing(context.Context, int64) error { return nil }

// behind runs do while another process holds the lock.
func behind(b *bench, do func() error) error {
	h, err := b.processes[0].hold(0, b.key, patience)
	if err != nil {
		return err
	}
	err = do()
	return errors.Join(err, h.release())
}

// best returns the shortest of three measurements: a busy machine affects it least.
func best(measure func() (time.Duration, error)) (time.Duration, error) {
	shortest := time.Duration(1 << 62)
	for range 3 {
		took, err := measure()
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, took)
	}
	return shortest, nil
}

// soonMax is the maximum time by which an attempt at a taken lock may exceed an attempt
// at a free lock. Both are made on an equally busy machine.
const soonMax = 50 * time.Millisecond

// free returns the longest duration of a few attempts at a free lock.
func free(b *bench, l *opened) (longest time.Duration, err error) {
	for range 5 {
		began := time.Now()
		if err := l.WithLock(b.ctx, b.key+", free", nothing); err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(began))
	}
	return longest, nil
}

// mustBeSoon requires that something takes at most soonMax longer than an attempt at a
// free lock.
func mustBeSoon(b *bench, l *opened, what string, took time.Duration) error {
	beside, err := free(b, l)
	if err == nil && took > beside+soonMax {
		err = fmt.Errorf("%w: %s took %v, an attempt at a free lock %v", errLate, what, took, beside)
	}
	return err
}

// tryOnce: with a wait of 0, a taken lock is refused at once, and a free one is granted.
func tryOnce(b *bench) error {
	l, err := b.open(0)
	if err != nil {
		return err
	}
	if err := l.WithLock(b.ctx, b.key, nothing); err != nil {
		return err
	}
	return behind(b, func() error {
		took, err := best(func() (time.Duration, error) {
			began := time.Now()
			err := l.WithLock(b.ctx, b.key, nothing)
			return time.Since(began), mustBeContended(err)
		})
		b.result.TryOnce = milliseconds(took)
		if err != nil {
			return err
		}
		return mustBeSoon(b, l, "an attempt", took)
	})
}

// waitLimit: a wait ends at its limit, at most soonMax later.
func waitLimit(b *bench) error {
	const limit = 200 * time.Millisecond
	l, err := b.open(limit)
	if err != nil {
		return err
	}
	if err := l.WithLock(b.ctx, b.key, nothing); err != nil { // so that it has connected before
		return err
	}
	return behind(b, func() error {
		over, err := best(func() (time.Duration, error) {
			began := time.Now()
			err := mustBeContended(l.WithLock(b.ctx, b.key, nothing))
			took := time.Since(began)
			if err == nil && took < limit {
				err = fmt.Errorf("a wait of %v ended after %v", limit, took)
			}
			return took - limit, err
		})
		b.result.WaitOver = milliseconds(over)
		if err != nil {
			return err
		}
		return mustBeSoon(b, l, "the end of a wait", over)
	})
}

// cancelledWait: after a caller gives up, it soon gets the error of its context. Nothing
// of its wait remains: no place in a queue, and no lock without a holder. Some callers
// give up at the moment when the lock becomes free.
func cancelledWait(b *bench) error {
	waiter, err := b.open(patience)
	if err != nil {
		return err
	}
	for n := range 8 {
		h, err := b.processes[0].hold(0, b.key, patience)
		if err != nil {
			return err
		}
		waits := 30*time.Millisecond + rand.N(10*time.Millisecond) //nolint:gosec // any moment will do
		ctx, cancel := context.WithTimeout(b.ctx, waits)
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- waiter.WithLock(ctx, b.key, nothing) }()
		if n%2 == 0 {
			err = givesUp(done, began, waits)
			err = errors.Join(err, h.release())
		} else {
			time.Sleep(time.Until(began.Add(35 * time.Millisecond)))
			err = h.release()
			<-done // whether or not it got the lock
		}
		cancel()
		if err == nil {
			err = isFree(b)
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
	}
	return nil
}

func givesUp(done <-chan error, began time.Time, waits time.Duration) error {
	err := <-done
	if codeOf(err) != "canceled" {
		return fmt.Errorf("wanted the context's error, got %w", orNil(err))
	}
	if late := time.Since(began) - waits; late > slack {
		return fmt.Errorf("%w: it gave up %v late", errLate, late)
	}
	return nil
}

// isFree requires that another process gets the lock, now and a moment later. The second
// attempt detects requests that arrive late.
func isFree(b *bench) error {
	for _, later := range []time.Duration{0, 20 * time.Millisecond} {
		time.Sleep(later)
		h, err := b.processes[2].hold(0, b.key, 0)
		if err != nil {
			return fmt.Errorf("the lock is free and was not had: %w", err)
		}
		if err := h.release(); err != nil {
			return err
		}
	}
	return nil
}
