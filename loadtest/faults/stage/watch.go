package stage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/loadtest/harness"
)

// Metrics reads an instance's own figures; it has none when it does not answer.
func (w *World) Metrics(i *Instance) map[string]float64 {
	found := map[string]float64{}
	text, _ := harness.Fetch(w.Ctx, i.URL()+"/metrics")
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if figure, err := strconv.ParseFloat(value, 64); ok && err == nil {
			found[name] = figure
		}
	}
	return found
}

// Within waits until nothing is left over, or says what is.
func Within(ctx context.Context, limit time.Duration, left func() string) string {
	// MariaDB goes on showing the same transactions to who asks more often than
	// every 100 ms.
	for until := time.Now().Add(limit); ; time.Sleep(150 * time.Millisecond) {
		said := left()
		if said == "" || time.Now().After(until) || ctx.Err() != nil {
			return said
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
