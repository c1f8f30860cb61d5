package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/site"
)

// ground has the servers that cells share. Each is started by the first cell
// that needs it.
type ground struct {
	redisMore func() []string // the addresses of two further Redis servers
}

// newGround makes shared databases write through to the disk, as in
// production, so that the figures mean something. A server that the
// environment names is used as it is.
func newGround(whole *site.Site) *ground {
	for kind, variable := range map[string]string{"postgres": "DRAWSVC_TEST_POSTGRES", "mysql": "DRAWSVC_TEST_MYSQL"} {
		if os.Getenv(variable) == "" {
			_ = site.On(kind, func(*site.Site) error { // where it is not installed, its cells say so
				return os.Setenv(variable, servertest.Start(whole, kind, servertest.Durable()).URL())
			})
		}
	}
	return &ground{redisMore: sync.OnceValue(func() []string {
		return []string{servertest.Start(whole, "redis").Addr(), servertest.Start(whole, "redis").Addr()}
	})}
}

// database returns the URL of an empty database for the cell.
func (g *ground) database(s *site.Site, kind string) string {
	switch kind {
	case "postgres":
		return servertest.Postgres(s)
	case "mysql":
		return servertest.MySQL(s)
	}
	folder, err := os.MkdirTemp("", "drawsvc-matrix-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(folder) })
	return "sqlite:" + filepath.Join(folder, "draws.db")
}

// lock returns the URL of a lock service that no other cell uses at the time.
func (g *ground) lock(s *site.Site, scheme string) string {
	if scheme == majority {
		return fmt.Sprintf("redis://%s,%s/0", hostOf(servertest.Redis(s)), strings.Join(g.redisMore(), ","))
	}
	return servertest.LockURL(s, scheme)
}

// lasting returns the address of a Redis that flushes every second, as the
// textbook has it.
func (g *ground) lasting(s *site.Site) string {
	return servertest.Start(s, "redis", servertest.Args("--appendonly", "yes", "--appendfsync", "everysec")).Addr()
}

// hostOf is the address in a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Host
}
