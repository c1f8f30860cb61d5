package servertest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// redisDatabases is the maximum number of tests of one process that have a database at
// the same time. When a test ends, its database is emptied, and its number can be used
// again.
const redisDatabases = 1024

// Redis returns the URL of an empty database on the Redis server that the test process
// shares. No other test has that database. For a server that the environment names, Redis
// returns the URL unchanged, so tests must use distinct keys.
func Redis(tb testing.TB) string {
	tb.Helper()
	base := sharedURL(tb, "redis")
	if os.Getenv(redisKind().variable) != "" {
		return base
	}
	sh := sharedOf(tb)
	number := sh.redisTurn.Add(1) % redisDatabases
	addr := strings.TrimSuffix(strings.TrimPrefix(base, "redis://"), "/0")
	tb.Cleanup(func() {
		words := fmt.Sprintf("SELECT %d\r\nFLUSHDB\r\nQUIT\r\n", number)
		if err := ask(context.Background(), addr, words, "+OK\r\n+OK\r\n+OK"); err != nil {
			tb.Errorf("empty the test's Redis database: %v", err)
		}
	})
	return fmt.Sprintf("redis://%s/%d", addr, number)
}

func redisKind() kind {
	return kind{
		variable: "DRAWSVC_TEST_REDIS",
		packages: "redis-server",
		programs: map[string][]string{"redis-server": {"/usr/bin/redis-server"}},
		ports:    1,
		command:  redisCommand,
		ready:    redisReady,
		url:      func(s *Server) string { return "redis://" + s.Addr() + "/0" },
		stop:     syscall.SIGTERM,
		discard:  syscall.SIGKILL,
	}
}

func redisCommand(s *Server) []string {
	argv := []string{s.programs["redis-server"], "--bind", "127.0.0.1", "--port", strconv.Itoa(s.ports[0].number),
		"--dir", s.dir, "--databases", strconv.Itoa(redisDatabases), "--save", ""}
	if s.options.durable {
		argv = append(argv, "--appendonly", "yes", "--appendfsync", "always")
	}
	return append(argv, s.options.args...)
}

func redisReady(ctx context.Context, s *Server) error {
	return ask(ctx, s.Addr(), "PING\r\nQUIT\r\n", "+PONG")
}
