package locker

import (
	"context"
	"time"
)

// refusal is an error whose text is complete.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

const (
	// errBusy means that another holder has the lock and the wait has timed out.
	errBusy = refusal("the lock is held by another")
	// errLost means that a lease certainly belongs to its holder no longer.
	errLost = refusal("the lease is no longer ours")
	// errSilent means that the lock service did not answer a request, even after an
	// interruption.
	errSilent = refusal("the lock service did not answer a request")
)

// backend is the part of a lock that differs between kinds of locks; the guard around
// it is the same for all.
type backend interface {
	// acquire requests the lock once and waits for it until the given time. It fails with
	// errBusy, with ctx's error, or with the error of the lock service; then no part of the
	// request remains. The lock service can distinguish the lease's holder from every other
	// holder, even in the same process.
	acquire(ctx context.Context, key string, until time.Time) (*lease, error)
	ping(ctx context.Context) error
	close() error
}

// lease is one hold of a lock.
type lease struct {
	token int64
	// ttl is the term if it differs from the requested one, otherwise 0.
	ttl time.Duration
	// since is a time before the lock service began to count the term: just before the
	// request that it granted.
	since time.Time
	// renew proves that the lease belongs to the holder and that its term is not over, and
	// starts the term again. errLost means that the lease is lost. After any other error it
	// may or may not be.
	renew func(ctx context.Context) error
	// release frees the lock if this holder still has it.
	release func(ctx context.Context) error
}

func (l *lease) term(o *Options) time.Duration {
	if l.ttl > 0 && l.ttl < o.TTL {
		return l.ttl
	}
	return o.TTL
}

// driftOf returns the time that is subtracted from every term: two clocks may differ in
// speed by 1 %.
func driftOf(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// detachContext returns a context for one request to a lock service. It outlives the caller's
// context, so that no request is cancelled while its result is unknown.
func detachContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), opTimeout)
}
