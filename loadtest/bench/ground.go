package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/site"
)

// server is a running database or Redis server.
type server struct {
	url string
	pid int
}

// serverKind is how a server is started, for durability and with the memory
// that a machine of its own would give it.
type serverKind struct {
	program  string
	variable string
	args     []string
}

func serverKinds() map[string]serverKind {
	return map[string]serverKind{
		"postgres": {"postgres", "DRAWSVC_TEST_POSTGRES", []string{"-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB"}},
		"mysql":    {"mariadbd", "DRAWSVC_TEST_MYSQL", []string{"--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M"}},
		// What the usual article sets.
		"redis": {"redis-server", "", []string{"--appendonly", "yes", "--appendfsync", "everysec"}},
	}
}

// launch starts a durable server and finds its process.
func launch(s *site.Site, name string) (*server, error) {
	k := serverKinds()[name]
	before, err := processes()
	if err != nil {
		return nil, err
	}
	started := servertest.Start(s, name, servertest.Durable(), servertest.Args(k.args...))
	after, err := processes()
	if err != nil {
		return nil, err
	}
	known := childrenOf(before, os.Getpid(), k.program)
	for pid := range childrenOf(after, os.Getpid(), k.program) {
		if !known[pid] {
			return &server{url: started.URL(), pid: pid}, nil
		}
	}
	return nil, fmt.Errorf("the process of %s is not found", k.program)
}

// shared returns the database server of the whole run, which is started by the
// first candidate that needs it.
func (b *benchmark) shared(name string) (*server, error) {
	if s := b.servers[name]; s != nil {
		return s, nil
	}
	s, err := launch(b.whole, name)
	if err != nil {
		return nil, err
	}
	b.servers[name] = s
	// Package servertest makes the databases, on the server that this names.
	return s, os.Setenv(serverKinds()[name].variable, s.url)
}

// place is where a candidate's pools live.
type place struct {
	// url is of the database, or the address of the textbook's Redis.
	url    string
	server *server // nil where there is none: SQLite, no-op
	// stocked says that the pools are made.
	stocked bool
}

// place returns an empty database, or the filled one that all candidates of
// this filling share.
func (b *benchmark) place(s *site.Site, c candidate) (*place, error) {
	if !c.filled() {
		return b.newPlace(s, c.database)
	}
	if p := b.filled[c.filling()]; p != nil {
		return p, nil
	}
	p, err := b.newPlace(b.whole, c.database)
	if err != nil {
		return nil, err
	}
	b.filled[c.filling()] = p
	return p, nil
}

func (b *benchmark) newPlace(s *site.Site, database string) (*place, error) {
	switch database {
	case "":
		return &place{stocked: true}, nil
	case "sqlite":
		folder, err := os.MkdirTemp("", "drawsvc-bench-")
		if err != nil {
			return nil, err
		}
		s.Cleanup(func() { _ = os.RemoveAll(folder) })
		return &place{url: "sqlite:" + filepath.Join(folder, "draws.db")}, nil
	case "redis":
		server, err := launch(s, "redis")
		if err != nil {
			return nil, err
		}
		return &place{url: server.url, server: server}, nil
	}
	server, err := b.shared(database)
	if err != nil {
		return nil, err
	}
	if database == "mysql" {
		return &place{url: servertest.MySQL(s), server: server}, nil
	}
	return &place{url: servertest.Postgres(s), server: server}, nil
}

// start starts the candidate's program, as often as it asks for.
func (b *benchmark) start(ctx context.Context, s *site.Site, c candidate, database string) ([]*instance, error) {
	args := []string{"--listen", "127.0.0.1:0"}
	switch {
	case c.program == service:
		args = append([]string{"serve", "--mode", c.mode, "--log-format", "json", "--database", database}, args...)
		if c.database != "sqlite" {
			args = append(args, "--migrate")
		}
		if c.lock == "redis" {
			args = append(args, "--lock", servertest.Redis(s))
		} else if c.lock != "" {
			args = append(args, "--lock", c.lock+":")
		}
	case c.database == "redis":
		args = append(args, "--redis", strings.TrimSuffix(strings.TrimPrefix(database, "redis://"), "/0"))
	case c.database != "":
		args = append(args, "--database", database)
	}
	instances := make([]*instance, c.copies())
	for k := range instances {
		var err error
		if instances[k], err = start(ctx, s, c.program, args...); err != nil {
			return nil, err
		}
	}
	return instances, nil
}

// stopAll ends the instances in good order.
func stopAll(instances []*instance) error {
	var err error
	for _, i := range instances {
		err = errors.Join(err, i.stop())
	}
	return err
}
