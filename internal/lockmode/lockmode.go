package lockmode

import "context"

// Locker is a lock outside the prize rows, one of package locker.
type Locker interface {
	// WithLock waits for the lock on key, within its own limit and ctx, and
	// runs fn while it is held. fn's context ends when the lock may be lost;
	// token grows with every holder of key and never repeats. fn's error is
	// returned as it is; draw.CodeContended says that the wait was spent,
	// draw.CodeLockUnavailable that the lock service did not answer, and in
	// both cases fn did not run.
	WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error
}
