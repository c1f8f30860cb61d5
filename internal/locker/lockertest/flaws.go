package lockertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker"
)

// The flaws that a lock can have, one for each important promise.
const (
	FlawNone       = ""
	FlawShared     = ", excludes nobody"
	FlawFreesAll   = ", frees others' locks"
	FlawRepeats    = ", repeats its token"
	FlawIgnores    = ", ignores loss"
	FlawGhost      = ", leaves a ghost after a cancelled wait"
	flawedInterval = 5 * time.Millisecond
)

// Flaws returns, for each flaw, the check that must detect it.
func Flaws() map[string]string {
	return map[string]string{
		FlawShared:   "one at a time",
		FlawFreesAll: "paused holder",
		FlawRepeats:  "token outlives its holder",
		FlawIgnores:  "paused holder",
		FlawGhost:    "cancelled wait",
	}
}

// flawed is a lock on Redis like those in many articles. It is correct except for one
// flaw. It polls, because it has no queue.
type flawed struct {
	client *redis.Client
	flaw   string
	o      locker.Options
	tokens atomic.Int64
}

func openFlawed(url, flaw string, o locker.Options) (locker.Lock, error) {
	r, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return &flawed{client: redis.NewClient(r), flaw: flaw, o: o}, nil
}

type flawedKey string

// WithLock implements locker.Lock, except for the flaw.
func (f *flawed) WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error {
	if token, nested := ctx.Value(flawedKey(key)).(int64); nested {
		return fn(ctx, token)
	}
	owner := time.Now().Format(time.RFC3339Nano)
	if err := f.acquire(ctx, key, owner); err != nil {
		return err
	}
	defer f.release(key, owner)
	token, err := f.client.Incr(context.Background(), "token:"+key).Result()
	if err != nil {
		return err
	}
	if f.flaw == FlawRepeats {
		token = f.tokens.Add(1) // each process counts on its own, from 1
	}
	within, cancel := context.WithCancel(context.WithValue(ctx, flawedKey(key), token))
	defer cancel()
	go f.keep(within, cancel, key, owner)
	return fn(within, token)
}

// acquire tries to set the key, which must not exist, until the wait limit is reached.
func (f *flawed) acquire(ctx context.Context, key, owner string) error {
	if f.flaw == FlawShared {
		return nil
	}
	until := time.Now().Add(f.o.Wait)
	for {
		if f.flaw == FlawGhost && ctx.Err() != nil {
			// The flaw: the wait continues although the caller has given up.
			go func() { _ = f.acquire(context.WithoutCancel(ctx), key, owner) }()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ok, err := f.client.SetNX(context.Background(), key, owner, f.o.TTL).Result() // like the locks in articles
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		if time.Now().After(until) {
			return draw.Errorf(draw.CodeContended, "taken")
		}
		time.Sleep(flawedInterval)
	}
}

func (f *flawed) keep(ctx context.Context, lose func(), key, owner string) {
	script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(f.o.TTL / 3):
		}
		kept, err := script.Run(context.Background(), f.client, []string{key}, owner, f.o.TTL.Milliseconds()).Bool()
		if (err != nil || !kept) && f.flaw != FlawIgnores && f.flaw != FlawShared {
			lose()
			return
		}
	}
}

func (f *flawed) release(key, owner string) {
	script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
	if f.flaw == FlawFreesAll {
		script = redis.NewScript(`return redis.call('DEL', KEYS[1])`)
	}
	_ = script.Run(context.Background(), f.client, []string{key}, owner).Err()
}

// Ping implements locker.Lock.
func (f *flawed) Ping(ctx context.Context) error { return f.client.Ping(ctx).Err() }

// Close implements locker.Lock.
func (f *flawed) Close() error { return f.client.Close() }

// Flawed is a subject with a flaw, on a Redis server.
func Flawed(url, flaw string) Subject {
	return Subject{Lock: url, Kind: "redis", Flaw: flaw, TTL: ttl, Term: ttl, Grip: ttl}
}
