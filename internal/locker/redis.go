package locker

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisLock is a key on one Redis server. It is set only if it does not exist. Its value
// is the holder's random name, and its expiry is the lease. Scripts renew and release it
// only for its owner. A release is published, so that waiters need not poll. They still
// check from time to time, because a published message may get lost.
//
// The token comes from a separate key that never expires. It is one more than the last
// token, or the server's time in microseconds if that is more. So it grows even if the
// server has lost its data, or if a replica without the last writes took over. The
// exception is a clock that was also set back. After such a loss two processes may hold
// the lock at once; the token shows which of them came later.
type redisLock struct {
	server *redisServer
	ttl    time.Duration
	// late counts keys that are being freed after failed requests, which may have set them.
	late sync.WaitGroup
}

func openRedis(rest string, o Options) (backend, error) {
	servers, err := redisServers(rest)
	if err != nil {
		return nil, err
	}
	if len(servers) > 1 {
		return newRedisMajority(servers, o), nil
	}
	return &redisLock{server: servers[0], ttl: o.TTL}, nil
}

func (r *redisLock) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	owner := rand.Text()
	wake, done := r.server.wakes.wait(key)
	defer done()
	p := pace{shortest: 5 * time.Millisecond, longest: 500 * time.Millisecond}
	return poll(ctx, until, p, wake, func(ctx context.Context) (*lease, time.Duration, error) {
		l, left, err := r.take(ctx, key, owner)
		if errors.Is(err, errBusy) {
			r.server.listen()
		}
		return l, left, err
	})
}

func (r *redisLock) take(ctx context.Context, key, owner string) (*lease, time.Duration, error) {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	since := time.Now()
	granted, n, err := r.server.take(ctx, key, owner, r.ttl)
	if err != nil {
		// The request may have set the key although it failed. The caller does not wait for the
		// release; if that fails, the key expires.
		r.late.Go(func() { _, _ = r.server.release(context.WithoutCancel(ctx), key, owner, true) })
		return nil, 0, err
	}
	if !granted {
		return nil, time.Duration(n) * time.Millisecond, errBusy
	}
	return &lease{
		token: n,
		since: since,
		renew: func(ctx context.Context) error { return lostUnless(r.server.renew(ctx, key, owner, r.ttl)) },
		release: func(ctx context.Context) error {
			return lostUnless(r.server.release(ctx, key, owner, true))
		},
	}, 0, nil
}

// lostUnless returns errLost if the server's answer is "no".
func lostUnless(yes bool, err error) error {
	if err == nil && !yes {
		return errLost
	}
	return err
}

func (r *redisLock) ping(ctx context.Context) error { return r.server.client.Ping(ctx).Err() }

func (r *redisLock) close() error {
	r.late.Wait()
	return r.server.close()
}

// redisScripts are scripts that a server runs atomically. KEYS are the lock and the
// counter of tokens. ARGV are the owner and then the arguments in the comments below.
type redisScripts struct {
	// take returns {1, token}, or {0, rest of the holder's term in ms}.
	take *redis.Script // ms
	// claim is like take, but the token is only a proposal.
	claim *redis.Script // ms
	// seal raises the counter to a token that a majority has agreed on.
	seal    *redis.Script // token
	renew   *redis.Script // ms
	release *redis.Script // channel, message; with an empty channel nothing is published
}

func newRedisScripts() redisScripts {
	const own = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end `
	const claim = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {0, redis.call('PTTL', KEYS[1])} end
		local now = redis.call('TIME')
		local token = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, now[1] * 1000000 + now[2]) `
	return redisScripts{
		take:  redis.NewScript(claim + `redis.call('SET', KEYS[2], string.format('%.0f', token)) return {1, token}`),
		claim: redis.NewScript(claim + `return {1, token}`),
		seal: redis.NewScript(own + `if tonumber(redis.call('GET', KEYS[2]) or '0') < tonumber(ARGV[2]) then redis.call('SET', KEYS[2], ARGV[2]) end
			return 1`),
		renew: redis.NewScript(own + `return redis.call('PEXPIRE', KEYS[1], ARGV[2])`),
		release: redis.NewScript(own + `redis.call('DEL', KEYS[1])
			if ARGV[2] ~= '' then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
			return 1`),
	}
}
