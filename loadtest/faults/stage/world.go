package stage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// World is the stage of one cell: database, lock service, instances, and the links
// between them.
type World struct {
	*harness.Site
	Scene
	Ctx    context.Context
	Ground *Ground
	*Base
	// Links are the connections to the database, one for each instance; LockLinks are
	// the connections to the lock service.
	Links, LockLinks []*servertest.Proxy
	LockServers      []*servertest.Server
	lockURL          string
	// ClockMoved is the clock that the cell may move, nil for none.
	ClockMoved *clock
	// Source is the source of the catalogue, nil if the cell has none.
	Source    *source
	Instances []*Instance
	// calm is the number of goroutines of an instance before any load.
	calm []float64
}

const (
	// usualTimeout is the service's timeout of a request: short, so that many faults
	// fit into an hour.
	usualTimeout = 2 * time.Second
	// LockTTL bounds how long a dead holder keeps the lock.
	LockTTL = 2 * time.Second
	// outputMax is how much of an instance's output is kept, in bytes.
	outputMax = 16 << 10
	// Grace is how much later than its timeout an answer may come.
	Grace = 500 * time.Millisecond
)

// NewWorld starts everything that the cell needs.
func NewWorld(ctx context.Context, s *harness.Site, g *Ground, c Scene) (*World, error) {
	w := &World{Site: s, Scene: c, Ctx: ctx, Ground: g}
	switch {
	case c.NewBase != nil:
		w.Base = c.NewBase(g, s, c.Database)
	case c.Clock == ClockOfDatabase && c.Database == "sqlite":
		w.ClockMoved = newOwnClock(s)
		w.Base = g.Database(s, c.Database, nil)
	case c.Clock == ClockOfDatabase:
		w.Base = g.Database(s, c.Database, w.clocked(c.Database))
	case c.Database == "sqlite":
		w.Base = g.Database(s, c.Database, nil)
	default:
		w.Base = g.Database(s, c.Database, g.Server(s, c.Database))
	}
	w.openLock()
	if c.Jobs {
		w.Source = newSource(s)
	}
	if c.Linked && w.Server != nil {
		for range c.Place.Instances {
			w.Links = append(w.Links, servertest.StartProxy(s, w.URL))
		}
	}
	for n := range c.Place.Instances {
		i := w.newInstance(n)
		w.Instances = append(w.Instances, i)
		s.Must(i.start())
		s.Cleanup(i.Kill)
	}
	for _, i := range w.Instances {
		s.Must(i.awaitReady(ctx))
		w.calm = append(w.calm, w.Metrics(i)["go_goroutines"])
	}
	return w, nil
}

func (w *World) newInstance(n int) *Instance {
	address, url := servertest.FreeAddr(w.Site), w.urlOf(n)
	if len(w.Links) > 0 {
		url = w.Links[n].URL()
	}
	i := &Instance{
		Number: n, Program: cmp.Or(w.Begins, w.Program), Address: address, output: harness.NewTail(outputMax), Env: slices.Concat(w.Env, w.ownClock(n)),
	}
	if w.Points {
		i.control = filepath.Join(w.Site.TempDir(), "control")
	}
	i.Args = []string{"--listen", address, "--database", url}
	if w.Program == Textbook {
		return i
	}
	i.Args = place.ServeArgs(address, url, w.Mode, "--lock", w.lockURL,
		"--request-timeout", w.Limit().String(), "--lock-ttl", LockTTL.String(), "--lock-wait", (w.Limit() / 2).String())
	i.Args = append(i.Args, w.Flags...)
	if w.SealKeys != "" {
		i.Keys = filepath.Join(w.Site.TempDir(), "seal.keys")
		w.Must(Replace(i.Keys, w.SealKeys, 0o600))
		i.Args = append(i.Args, "--seal-keys", i.Keys, "--hook-allow", "127.0.0.0/8", "--host-name", HostName(n))
	}
	if w.Jobs {
		i.Args = append(i.Args, w.Source.flags(n, w.lockURL)...)
	}
	return i
}

// openLock gives the cell a lock service with its own keys.
func (w *World) openLock() {
	scheme, count, _ := strings.Cut(w.Lock, "×")
	servers := 1
	if count != "" {
		servers = int(count[0] - '0')
	}
	if scheme == "" {
		scheme = "table"
	}
	if servertest.Locks()[scheme].InDatabase {
		w.lockURL = scheme + ":"
		return
	}
	var addresses []string
	for n := range servers {
		var server *servertest.Server
		if w.Clock == ClockOfLock {
			server = w.clocked(scheme)
		} else {
			server = w.Ground.Server(w.Site, fmt.Sprintf("%s %d", scheme, n+1))
		}
		link := servertest.StartProxy(w.Site, server.Addr())
		w.LockServers, w.LockLinks = append(w.LockServers, server), append(w.LockLinks, link)
		addresses = append(addresses, link.Addr())
	}
	path := map[string]string{"redis": "/0", "zookeeper": "/faults-" + strings.ToLower(rand.Text())}[scheme]
	w.lockURL = place.LockURL(scheme, path, addresses...)
}

// End shuts the instances down.
func (w *World) End() error {
	var all error
	for _, i := range w.Instances {
		if died, err := i.died(); died {
			all = errors.Join(all, fmt.Errorf("instance %d ended by itself: %w", i.Number, err))
			continue
		}
		if w.Program == Textbook {
			i.Kill()
			continue
		}
		all = errors.Join(all, i.Stop())
	}
	return all
}

// Printed returns the output of the instances.
func (w *World) Printed() string {
	var b strings.Builder
	for _, i := range w.Instances {
		fmt.Fprintf(&b, "--- instance %d printed at its end:\n%s\n", i.Number, i.output)
	}
	return b.String()
}

// Bin is the folder of all builds, from the root of the repository.
const Bin = place.Bin + "/faults"

// The programs besides the doubles.
const (
	Released = "drawsvc"        // the program that users run
	Faulty   = "drawsvc-faults" // the same program with fault points
	Textbook = "broken"         // a program that over-issues
)

// Command runs a command of a program, and returns its output. The error contains the
// output as well.
func Command(ctx context.Context, program string, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, filepath.Join(Bin, program), args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, output)
	}
	return string(output), err
}

// PrizeNames returns the names of the prizes of all pools.
func PrizeNames() []string { return []string{"gold", "silver", "tin"} }

// Scene holds the needs of a cell on the stage.
type Scene struct {
	place.Place
	// Program is the program under test. Begins is the program that the instances start
	// with, "" for the same.
	Program, Begins string
	// Flags and Env are added to the program's own.
	Flags, Env []string
	// Linked means that every connection to the database goes through a proxy.
	Linked bool
	// Timeout is the service's timeout of a request; 0 is the usual one.
	Timeout time.Duration
	// Clock names the owner of the clock that is moved, "" for none.
	Clock string
	// Points means that the program has fault points, and can have its own clock.
	Points bool
	// Jobs means that the instances fetch a catalogue, and use the cell's lock for
	// jobs.
	Jobs bool
	// SealKeys is the initial text of each instance's own file of seal keys, "" for no
	// file.
	SealKeys string
	// NewBase creates the database in a special way; nil is the usual way.
	NewBase func(g *Ground, s *harness.Site, kind string) *Base
}

// Limit returns the service's timeout of a request.
func (s *Scene) Limit() time.Duration {
	if s.Timeout == 0 {
		return usualTimeout
	}
	return s.Timeout
}

// Metrics reads an instance's metrics; the map is empty if it does not answer.
func (w *World) Metrics(i *Instance) map[string]float64 {
	found, _ := harness.Metrics(w.Ctx, i.URL())
	return found
}

// Within waits until wanting returns nil, or returns its last error after the limit.
func Within(ctx context.Context, limit time.Duration, wanting func() error) error {
	// MariaDB shows the same transactions to queries that are less than 100 ms apart.
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
