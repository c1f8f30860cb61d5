// Command redis-lua keeps stock in a Redis hash; a Lua script chooses a prize, lowers
// its stock and appends the win to a list.
//
// RIGHT in what it issues while Redis runs: no other command runs during a script. Its
// weakness: an acknowledged win is only as durable as Redis. With fsync every second, a
// crash loses the last second, stock and wins alike, and the units are issued again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/loadtest/textbook/wire"
)

// take: KEYS ids, left, wins, draws, clock; ARGV draw, random seed, count, win (a template).
const take = `
local known = redis.call("HGET", KEYS[4], ARGV[1])
if known then return {1, known} end
local ids = redis.call("LRANGE", KEYS[1], 0, -1)
if #ids == 0 then return redis.error_reply("absent") end
local left, total = {}, 0
for i, id in ipairs(ids) do left[i] = tonumber(redis.call("HGET", KEYS[2], id)); total = total + left[i] end
if total < tonumber(ARGV[3]) then return redis.error_reply("soldout") end
math.randomseed(tonumber(ARGV[2]))
local awards = {}
for n = 1, tonumber(ARGV[3]) do
	local r, i = math.random(total), 1
	while r > left[i] do r = r - left[i]; i = i + 1 end
	left[i] = left[i] - 1; total = total - 1
	redis.call("HINCRBY", KEYS[2], ids[i], -1)
	local win = cjson.decode(ARGV[4])
	win.Version, win.Ordinal, win.Prize = redis.call("INCR", KEYS[5]), n, ids[i]
	win.Unit = redis.call("HINCRBY", KEYS[2] .. ":issued", ids[i], 1)
	local line = cjson.encode(win)
	redis.call("RPUSH", KEYS[3], line)
	awards[n] = line
end
local all = "[" .. table.concat(awards, ",") .. "]"
redis.call("HSET", KEYS[4], ARGV[1], all)
return {0, all}`

func main() {
	flags := wire.ParseFlags()
	s := shop{redis.NewClient(&redis.Options{Addr: flags.Redis, MaxRetries: -1, PoolSize: 64}), redis.NewScript(take)}
	wire.Exit(wire.Serve(flags.Listen, s.draw, s))
}

type shop struct {
	redis *redis.Client
	take  *redis.Script
}

func keys(pool string) []string {
	return []string{"ids:" + pool, "left:" + pool, "wins:" + pool, "draws:" + pool, "clock:" + pool}
}

func (s shop) draw(ctx context.Context, r wire.Request) (answer wire.Answer, err error) {
	win, err := json.Marshal(wire.Award{Draw: r.Key, User: r.User, At: time.Now().UTC()})
	if err != nil {
		return answer, err
	}
	out, err := s.take.Run(ctx, s.redis, keys(r.Pool), r.Key, rand.Int32(), r.Count, win).Slice()
	if redis.HasErrorPrefix(err, "soldout") {
		return answer, wire.ErrSoldOut
	}
	if redis.HasErrorPrefix(err, "absent") {
		return answer, wire.ErrNotFound
	}
	if err != nil {
		return answer, err
	}
	answer.Replayed = out[0].(int64) == 1
	return answer, json.Unmarshal([]byte(out[1].(string)), &answer.Awards)
}

// Create implements wire.Ledger.
func (s shop) Create(ctx context.Context, pool string, prizes []wire.Prize) error {
	k := keys(pool)
	if n, err := s.redis.Exists(ctx, k[0]).Result(); err != nil || n > 0 {
		return errors.Join(err, wire.ErrPoolExists)
	}
	_, err := s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		for _, p := range prizes {
			tx.RPush(ctx, k[0], p.ID)
			tx.HSet(ctx, k[1], p.ID, p.Stocked)
		}
		return nil
	})
	return err
}

// Stock implements wire.Ledger.
func (s shop) Stock(ctx context.Context, pool string, m wire.Move) (err error) {
	k := keys(pool)
	if known, err := s.redis.HExists(ctx, k[1], m.Prize).Result(); err != nil || !known {
		return errors.Join(err, wire.ErrNotFound)
	}
	if m.Version, err = s.redis.Incr(ctx, k[4]).Result(); err != nil {
		return err
	}
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = s.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.HIncrBy(ctx, k[1], m.Prize, m.Delta)
		tx.RPush(ctx, "moves:"+pool, line)
		return nil
	})
	return err
}

// Read implements wire.Ledger.
func (s shop) Read(ctx context.Context, pool string) (book wire.Book, err error) {
	k := keys(pool)
	ids, err := s.redis.LRange(ctx, k[0], 0, -1).Result()
	if err != nil || len(ids) == 0 {
		return book, errors.Join(err, wire.ErrNotFound)
	}
	for _, id := range ids {
		left, _ := s.redis.HGet(ctx, k[1], id).Int64()
		issued, _ := s.redis.HGet(ctx, k[1]+":issued", id).Int64()
		book.Prizes = append(book.Prizes, wire.Prize{ID: id, Stocked: left + issued, Issued: issued})
	}
	return book, errors.Join(list(ctx, s.redis, k[2], &book.Awards), list(ctx, s.redis, "moves:"+pool, &book.Moves))
}

func list[T any](ctx context.Context, db *redis.Client, key string, into *[]T) error {
	lines, err := db.LRange(ctx, key, 0, -1).Result()
	for _, line := range lines {
		var v T
		err = errors.Join(err, json.Unmarshal([]byte(line), &v))
		*into = append(*into, v)
	}
	return err
}
