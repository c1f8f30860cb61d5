package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/loadtest/harness"
)

// Metrics reads an instance's own figures; it has none when it does not answer.
func (w *World) Metrics(i *Instance) map[string]float64 {
	found, _ := harness.Metrics(w.Ctx, i.URL())
	return found
}

// Within waits until nothing is wanting, or says what is.
func Within(ctx context.Context, limit time.Duration, wanting func() error) error {
	// MariaDB goes on showing the same transactions to who asks more often than
	// every 100 ms.
	for until := time.Now().Add(limit); ; time.Sleep(150 * time.Millisecond) {
		err := wanting()
		if err == nil || time.Now().After(until) || ctx.Err() != nil {
			return err
		}
	}
}

// RedisDo runs a command on a server.
func RedisDo(ctx context.Context, addr string, args ...any) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	answer, err := client.Do(ctx, args...).Result()
	return fmt.Sprint(answer), err
}
