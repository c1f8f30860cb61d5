package locker

import (
	"context"
	"errors"
	"sync"
	"time"

	"drawsvc/internal/draw"
)

// hold is a lease in use, together with the nested callers that share it.
type hold struct {
	lease   *lease
	options *Options
	key     string

	// cancel ends the context of the holder's work, and stop ends the watch. The watch
	// continues after the caller's context has ended, because the work may also continue:
	// the caller cannot cancel a commit.
	cancel  context.CancelCauseFunc
	stop    context.CancelFunc
	watched chan struct{}

	mu     sync.Mutex
	over   bool
	nested sync.WaitGroup
}

// enter adds a nested caller, unless the hold is over. A nested call may come later,
// because its context may outlive the hold.
func (h *hold) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	h.nested.Add(1)
	return true
}

func (h *hold) leave() { h.nested.Done() }

// end admits no more nested callers, and waits for those that have entered.
func (h *hold) end() {
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	h.nested.Wait()
}

// release ends the hold's context, waits for the nested callers, and ends the watch. Then
// it releases the lease, so that no renewal follows the release.
func (h *hold) release(ctx context.Context) {
	if h.watched != nil {
		h.cancel(nil)
		h.end()
		h.stop()
		<-h.watched
	}
	ctx, cancel := detachContext(ctx)
	defer cancel()
	if err := h.lease.release(ctx); err != nil {
		h.options.Log.Warn("a lock was not released and ends with its term", "key", h.key, "token", h.lease.token, "error", err)
	}
}

// watch renews the lease until it is released, and returns the context for the holder's
// work. That context ends when the lease is lost or its term has passed without renewal.
func (h *hold) watch(ctx context.Context, g *guard) context.Context {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	within, cancel := context.WithCancelCause(context.WithValue(ctx, holdKey{g, h.key}, h))
	h.cancel, h.stop, h.watched = cancel, stop, make(chan struct{})
	go func() {
		defer close(h.watched)
		h.keep(life)
	}()
	return within
}

func (h *hold) keep(life context.Context) {
	ttl := h.lease.term(h.options)
	term := ttl - driftOf(ttl)
	// The end of the term has a separate timer, because a renewal may hang.
	expiry := time.AfterFunc(time.Until(h.lease.since.Add(term)), func() { h.lose("its term passed unrenewed", nil) })
	defer expiry.Stop()
	next := time.NewTimer(time.Until(h.lease.since.Add(ttl / 3)))
	defer next.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-next.C:
		}
		switch err := renew(life, h.lease); {
		case err == nil:
			expiry.Reset(time.Until(h.lease.since.Add(term)))
			next.Reset(time.Until(h.lease.since.Add(ttl / 3)))
		case errors.Is(err, errLost):
			h.lose("the lock service says so", err)
		default:
			h.options.Log.Warn("a lease was not renewed", "key", h.key, "token", h.lease.token, "error", err)
			next.Reset(ttl / 10)
		}
	}
}

// lose ends the holder's context and the watch: a lease is not renewed for work that must
// end.
func (h *hold) lose(why string, err error) {
	h.options.Log.Warn("a lease is lost", "key", h.key, "token", h.lease.token, "why", why, "error", err)
	h.cancel(draw.Wrap(draw.CodeLockUnavailable, err, "the lock was lost: %s", why))
	h.stop()
}
