package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// bin is where everything is built to, from the root of the repository.
const bin = "loadtest/bin"

// build makes k6, the service and the textbook programs, each from its own
// go.mod, so that versions are pinned.
func build(ctx context.Context) error {
	return harness.Build(ctx, "loadtest/k6/go.mod", bin, func(to string) [][]string {
		return [][]string{
			{"build", "-C", "loadtest/k6", "-o", filepath.Join(to, "k6"), "go.k6.io/k6/v2"},
			{"build", "-C", "loadtest/textbook", "-o", to + "/", "./..."},
			{"build", "-o", filepath.Join(to, service), "./cmd/drawsvc"},
		}
	})
}

// ground has the servers that cells share. Each is started by the first cell
// that needs it.
type ground struct {
	redisMore func() []string // the addresses of two further Redis servers
}

// newGround makes shared databases write through to the disk, as in
// production, so that the figures mean something. A server that the
// environment names is used as it is.
func newGround(whole *harness.Site) *ground {
	for kind, variable := range map[string]string{"postgres": "DRAWSVC_TEST_POSTGRES", "mysql": "DRAWSVC_TEST_MYSQL"} {
		if os.Getenv(variable) == "" {
			_ = harness.On(kind, func(*harness.Site) error { // where it is not installed, its cells say so
				return os.Setenv(variable, servertest.Start(whole, kind, servertest.Durable()).URL())
			})
		}
	}
	return &ground{redisMore: sync.OnceValue(func() []string {
		return []string{servertest.Start(whole, "redis").Addr(), servertest.Start(whole, "redis").Addr()}
	})}
}

// lock returns the URL of a lock service that no other cell uses at the time.
func (g *ground) lock(s *harness.Site, scheme string) string {
	if scheme == majority {
		return fmt.Sprintf("redis://%s,%s/0", hostOf(servertest.Redis(s)), strings.Join(g.redisMore(), ","))
	}
	return servertest.LockURL(s, scheme)
}

// lasting returns the address of a Redis that flushes every second, as the
// textbook has it.
func (g *ground) lasting(s *harness.Site) string {
	return servertest.Start(s, "redis", servertest.Args("--appendonly", "yes", "--appendfsync", "everysec")).Addr()
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Host
}
