// Command redis-lock holds a Redis key (SET NX PX, released by a script that checks the
// owner) around a plain read and write in PostgreSQL.
//
// RIGHT as long as no holder is late. Its weakness: the key expires by itself. A holder
// that is paused for longer than the lease writes what it read before, while the next
// holder has the lock; nothing in the write detects that. Its price: one draw at a
// time, and waiters that poll.
package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/loadtest/textbook/wire"
)

const (
	lease   = 10 * time.Second
	waitMax = 2 * time.Second
	poll    = 2 * time.Millisecond
)

func main() {
	flags := wire.ParseFlags()
	locks := redis.NewClient(&redis.Options{Addr: flags.Redis, MaxRetries: -1})
	release := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	wire.ServePostgres(flags, shop{locks, release}.draw)
}

type shop struct {
	locks   *redis.Client
	release *redis.Script
}

func (s shop) draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	key, owner := "lock:"+r.Pool, rand.Text()
	for until := time.Now().Add(waitMax); ; time.Sleep(poll) {
		err := s.locks.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
		if err == nil {
			break
		}
		if err != redis.Nil {
			return wire.Answer{}, err
		}
		if time.Now().After(until) {
			return wire.Answer{}, wire.ErrContended
		}
	}
	defer s.release.Run(context.WithoutCancel(ctx), s.locks, []string{key}, owner)
	return db.Draw(ctx, r, wire.ReadAndWrite)
}
