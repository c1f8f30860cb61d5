// Command redis-lock holds a Redis key (SET NX PX, released by a script that
// checks the owner) around a plain read and write in PostgreSQL.
//
// RIGHT as long as nobody is late. Its weakness: the key expires by itself. A
// holder that is paused longer than the lease writes what it read before, while
// the next one holds the lock; nothing in the write notices. Its price: one
// draw at a time, and waiters that poll.
package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5"
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
	db, err := wire.OpenPostgres(context.Background(), flags.Database)
	wire.Exit(err)
	locks := redis.NewClient(&redis.Options{Addr: flags.Redis, MaxRetries: -1})
	release := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	wire.Exit(wire.Serve(flags.Listen, shop{db, locks, release}.draw, db))
}

type shop struct {
	db      *wire.Postgres
	locks   *redis.Client
	release *redis.Script
}

func (s shop) draw(ctx context.Context, r wire.Request) (wire.Answer, error) {
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
	return s.readAndWrite(ctx, r)
}

// readAndWrite is what program broken does; only the lock makes it right.
func (s shop) readAndWrite(ctx context.Context, r wire.Request) (answer wire.Answer, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if known, err := wire.Known(ctx, tx, r); err != nil || len(known) > 0 {
			answer = wire.Answer{Awards: known, Replayed: true}
			return err
		}
		prizes, err := wire.Prizes(ctx, tx, r.Pool)
		if err != nil {
			return err
		}
		for i := range r.Count {
			chosen, err := wire.Pick(prizes)
			if err != nil {
				return err
			}
			prize := &prizes[chosen]
			prize.Issued++
			_, err = tx.Exec(ctx, `UPDATE prizes SET issued = $3 WHERE pool_id = $1 AND id = $2`, r.Pool, prize.ID, prize.Issued)
			if err != nil {
				return err
			}
			award, err := wire.Record(ctx, tx, r, i+1, prize.ID, prize.Issued)
			if err != nil {
				return err
			}
			answer.Awards = append(answer.Awards, award)
		}
		return nil
	})
	return answer, err
}
