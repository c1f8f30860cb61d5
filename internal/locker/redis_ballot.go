package locker

import (
	"context"
	"time"
)

// ballot is one attempt to get a majority. Each attempt has another owner.
type ballot struct {
	m          *redisMajority
	key, owner string
	// claimed has a channel for each server. It is closed when the claim at that server has
	// a result. A release before that would leave the lock taken.
	claimed []chan struct{}
}

// hold claims the lock and seals its token. If either fails, no part of the claim
// remains.
func (b *ballot) hold(ctx context.Context) (l *lease, left time.Duration, err error) {
	since := time.Now()
	granted, left, err := b.claim(ctx)
	if err == nil {
		var token int64
		if token, err = b.seal(ctx, granted); err == nil {
			return &lease{
				token:   token,
				since:   since,
				renew:   b.renew,
				release: func(ctx context.Context) error { return b.release(ctx, true) },
			}, 0, nil
		}
	}
	// The end of this attempt is not published, because no caller waited for it. Otherwise
	// waiters would try, fail, and wake others.
	_ = b.release(ctx, false)
	return nil, left, err
}

// claim returns the replies of a majority of servers that granted the lock.
func (b *ballot) claim(ctx context.Context) (granted []reply, left time.Duration, err error) {
	for i := range b.claimed {
		b.claimed[i] = make(chan struct{})
	}
	replies := b.m.vote(ctx, b.m.all(), func(ctx context.Context, i int) (r reply) {
		defer close(b.claimed[i])
		r.yes, r.n, r.err = b.m.servers[i].claim(ctx, b.key, b.owner, b.m.ttl)
		return r
	})
	for _, r := range replies {
		if r.err != nil {
			continue
		}
		if r.yes {
			granted = append(granted, r)
		} else if rest := time.Duration(r.n) * time.Millisecond; left == 0 || rest < left {
			left = rest
		}
	}
	return granted, left, b.m.checkGranted(replies)
}

// seal makes a majority of servers store the highest proposal as the token.
func (b *ballot) seal(ctx context.Context, granted []reply) (int64, error) {
	token := int64(0)
	servers := make([]int, 0, len(granted))
	for _, r := range granted {
		token = max(token, r.n)
		servers = append(servers, r.server)
	}
	replies := b.m.vote(ctx, servers, func(ctx context.Context, i int) (r reply) {
		r.yes, r.err = b.m.servers[i].seal(ctx, b.key, b.owner, token)
		return r
	})
	return token, b.m.checkGranted(replies)
}

func (b *ballot) renew(ctx context.Context) error {
	return b.m.checkOwned(b.m.vote(ctx, b.m.all(), func(ctx context.Context, i int) (r reply) {
		r.yes, r.err = b.m.servers[i].renew(ctx, b.key, b.owner, b.m.ttl)
		return r
	}))
}

func (b *ballot) release(ctx context.Context, loud bool) error {
	return b.m.checkOwned(b.m.vote(ctx, b.m.all(), func(ctx context.Context, i int) (r reply) {
		<-b.claimed[i]
		r.yes, r.err = b.m.servers[i].release(context.WithoutCancel(ctx), b.key, b.owner, loud)
		return r
	}))
}
