package locker

import (
	"context"
	"errors"
	"time"

	"drawsvc/internal/draw"
)

// guard is the part that all locks share. It contains the queue in this process, nested
// calls by context, the watch over the lease, and the release.
type guard struct {
	backend backend
	options Options
	queue   *queue
}

// holdKey identifies, in a context, the hold of one key of one lock.
type holdKey struct {
	guard *guard
	key   string
}

// WithLock implements [Lock].
func (g *guard) WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error {
	if key == "" || len(key) > KeyMax {
		return draw.Errorf(draw.CodeInvalidRequest, "a lock's key must have 1 to %d bytes", KeyMax)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if outer, nested := ctx.Value(holdKey{g, key}).(*hold); nested && outer.enter() {
		defer outer.leave()
		return fn(ctx, outer.lease.token)
	}
	until := time.Now().Add(g.options.Wait)
	if err := g.queue.enter(ctx, key, until); err != nil {
		return refused(ctx, err)
	}
	defer g.queue.leave(key)
	l, err := g.take(ctx, key, until)
	if err != nil {
		return refused(ctx, err)
	}
	h := &hold{lease: l, options: &g.options, key: key}
	defer h.release(ctx)
	return fn(h.watch(ctx, g), l.token)
}

// take acquires a lease, and renews it if much of its term has already passed.
func (g *guard) take(ctx context.Context, key string, until time.Time) (*lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := g.backend.acquire(ctx, key, until)
	if err != nil {
		return nil, err
	}
	if err = ctx.Err(); err == nil && time.Since(l.since) > l.term(&g.options)/4 {
		// If the wait was long, the lock service may have begun to count the term long ago.
		err = renew(ctx, l)
	}
	if err != nil {
		(&hold{lease: l, options: &g.options, key: key}).release(ctx)
		return nil, err
	}
	return l, nil
}

// refused gives an error its code. Requests to the lock service have their own deadlines.
// So a context error comes from the caller only if the caller's context has ended.
func refused(ctx context.Context, err error) error {
	if errors.Is(err, errBusy) {
		return draw.Wrap(draw.CodeContended, err, "the lock stayed taken for the whole wait")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return draw.Wrap(draw.CodeLockUnavailable, err, "the lock service does not answer")
}

// Ping implements [Lock].
func (g *guard) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	if err := g.backend.ping(ctx); err != nil {
		return draw.Wrap(draw.CodeLockUnavailable, err, "the lock service does not answer")
	}
	return nil
}

// Close implements [Lock].
func (g *guard) Close() error { return g.backend.close() }

// renew requests that the lock service starts l's term again. For l, the term begins at a
// time before the request.
func renew(ctx context.Context, l *lease) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	asked := time.Now()
	if err := l.renew(ctx); err != nil {
		return err
	}
	l.since = asked
	return nil
}
