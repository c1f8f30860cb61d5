package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

type server struct {
	url string
	pid int
}

type serverID struct {
	name     string
	defaults bool
}

// String returns the server's name in the results.
func (id serverID) String() string {
	if id.defaults {
		return id.name + ", default memory"
	}
	return id.name
}

func (id serverID) args() []string {
	if id.defaults {
		return place.Of(id.name).Usual
	}
	return place.Of(id.name).Wide
}

func launch(s *harness.Site, id serverID) (*server, error) {
	program := place.Of(id.name).Program
	before, err := processes()
	s.Must(err)
	started := servertest.Start(s, id.name, servertest.Durable(), servertest.Args(id.args()...))
	after, err := processes()
	s.Must(err)
	known := childrenOf(before, os.Getpid(), program)
	for pid := range childrenOf(after, os.Getpid(), program) {
		if !known[pid] {
			return &server{url: started.URL(), pid: pid}, nil
		}
	}
	return nil, fmt.Errorf("the process of %s is not found", program)
}

// shared returns the database server of the whole run, which the first candidate that
// needs it starts. Package servertest creates its databases there until another server
// is requested.
func (b *benchmark) shared(id serverID) (*server, error) {
	s := b.servers[id]
	if s == nil {
		var err error
		if s, err = launch(b.whole, id); err != nil {
			return nil, err
		}
		b.servers[id] = s
	}
	return s, os.Setenv(place.Of(id.name).Variable, s.url)
}

// spot is the database in which a candidate's pools are.
type spot struct {
	// url is the URL of the database, or the address of the textbook's Redis.
	url    string
	server *server // nil for SQLite and the no-op handler, which have no server
	// stocked means that the pools are created.
	stocked bool
}

// place returns an empty database, or the filled one that all candidates with this
// filling share.
func (b *benchmark) place(s *harness.Site, c candidate) (*spot, error) {
	if !c.filled() {
		return b.newPlace(s, c)
	}
	if p := b.filled[c.filling()]; p != nil {
		return p, nil
	}
	p, err := b.newPlace(b.whole, c)
	s.Must(err)
	b.filled[c.filling()] = p
	return p, nil
}

func (b *benchmark) newPlace(s *harness.Site, c candidate) (*spot, error) {
	id := serverID{c.database, c.defaults}
	switch c.database {
	case "":
		return &spot{stocked: true}, nil
	case "sqlite":
		return &spot{url: place.NewDatabase(s, c.database)}, nil
	case "redis":
		server, err := launch(s, id)
		s.Must(err)
		return &spot{url: server.url, server: server}, nil
	}
	server, err := b.shared(id)
	s.Must(err)
	return &spot{url: place.NewDatabase(s, c.database), server: server}, nil
}

func (b *benchmark) start(ctx context.Context, s *harness.Site, c candidate, database string) ([]*harness.Process, error) {
	const listen = "127.0.0.1:0"
	args := []string{"--listen", listen}
	switch {
	case c.program == service:
		args = place.ServeArgs(listen, database, c.mode)
		if c.committed {
			b.makeKeyFlags()
			args = append(args, b.seedFlags...)
		}
		if c.isPaid() {
			b.makeKeyFlags()
			args = append(append(args, "--hook-allow", "127.0.0.0/8"), b.sealFlags...)
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
	return harness.LaunchAll(ctx, s, c.copies(), b.program(c), args...)
}

// program returns the file to run. The programs of the other tree are in a separate
// folder.
func (b *benchmark) program(c candidate) string {
	if c.tree != "" {
		return filepath.Join(b.other.bin, c.program)
	}
	return filepath.Join(place.Bin, c.program)
}

// stopAll ends the instances: it shuts the service down, and kills the textbook programs
// and the no-op handler, which have no shutdown. An instance that has exited before is an
// error.
func stopAll(c candidate, instances []*harness.Process) error {
	if c.program == service {
		return harness.StopAll(instances)
	}
	for _, i := range instances {
		if ended, err := i.Ended(); ended {
			return fmt.Errorf("it had ended by itself: %w\n%s", err, i.Output)
		}
		i.Kill()
	}
	return nil
}
