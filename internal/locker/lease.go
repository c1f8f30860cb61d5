package locker

import (
	"context"
	"time"
)

// refusal is an error that needs no more words than its own.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

const (
	// errBusy says that somebody else has the lock and the wait is spent.
	errBusy = refusal("the lock is held by another")
	// errLost says for certain that a lease is no longer its holder's.
	errLost = refusal("the lease is no longer ours")
	// errSilent says that a question got no answer, not even an interrupted one.
	errSilent = refusal("the lock service left a question without an answer")
)

// backend is what one kind of lock adds to the guard around it.
type backend interface {
	// acquire asks once and, while until is ahead, waits for the lock. It
	// fails with errBusy, with ctx's error, or with what the lock service
	// did wrong; then nothing of it stays behind. The lease's holder learns
	// apart from every other, also from others in this process.
	acquire(ctx context.Context, key string, until time.Time) (*lease, error)
	ping(ctx context.Context) error
	close() error
}

// lease is one hold of a lock.
type lease struct {
	token int64
	// ttl is the term, where the lock service set one shorter than was asked
	// for; 0 is the one that was.
	ttl time.Duration
	// since is a moment before the lock service began to count the term: just
	// before it was asked the question that it granted.
	since time.Time
	// renew proves owner and term and starts the term again. errLost says
	// that it is over, any other error that the answer is not known.
	renew func(ctx context.Context) error
	// release frees the lock if it is still this holder's.
	release func(ctx context.Context) error
}

func (l *lease) term(o *Options) time.Duration {
	if l.ttl > 0 && l.ttl < o.TTL {
		return l.ttl
	}
	return o.TTL
}

// driftOf is taken off every term, because two clocks may run at rates that
// differ by 1 %.
func driftOf(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// apart returns a context for one question to a lock service. It outlives the
// caller's, so that no question is cut off with its answer unknown.
func apart(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
}
