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

// World is the stage of one cell: database, lock service, instances, and the
// ways between them.
type World struct {
	*harness.Site
	Scene
	Ctx    context.Context
	Ground *Ground
	*Base
	// Links are the ways to the database, one for each instance; lockLinks
	// those to the lock service.
	Links, LockLinks []*servertest.Proxy
	LockServers      []*servertest.Server
	lockURL          string
	// ClockMoved is the clock that the cell may move, nil for none.
	ClockMoved *clock
	// Source is that of the catalogue, nil where the cell has none.
	Source    *source
	Instances []*Instance
	// calm is the number of goroutines of an instance before any load.
	calm []float64
}

const (
	// usualTimeout is the service's time for a request: short, so that many
	// faults fit into an hour.
	usualTimeout = 2 * time.Second
	// LockTTL bounds how long a dead holder keeps the lock.
	LockTTL = 2 * time.Second
	// outputMax is how much of an instance's output is kept, in bytes.
	outputMax = 16 << 10
	// Grace is how much later than its time an answer may come.
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
	if w.Jobs {
		i.Args = append(i.Args, w.Source.flags(n, w.lockURL)...)
	}
	return i
}

// openLock gives the cell a lock service with keys of its own.
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

// End stops the instances in good order.
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

// Printed is what the instances printed.
func (w *World) Printed() string {
	var b strings.Builder
	for _, i := range w.Instances {
		fmt.Fprintf(&b, "--- instance %d printed at its end:\n%s\n", i.Number, i.output)
	}
	return b.String()
}

// Bin is where everything is built to, from the root of the repository.
const Bin = place.Bin + "/faults"

// The programs, beside the doubles.
const (
	Released = "drawsvc"        // what users run
	Faulty   = "drawsvc-faults" // the same with fault points
	Textbook = "broken"         // over-issues
)

// Command runs a command of a program, and returns what it printed. Its error
// holds that as well.
func Command(ctx context.Context, program string, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, filepath.Join(Bin, program), args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, output)
	}
	return string(output), err
}

// PrizeNames are those of all pools.
func PrizeNames() []string { return []string{"gold", "silver", "tin"} }

// Scene is what a cell needs on the stage.
type Scene struct {
	place.Place
	// Program is what is tried, begins what the instances begin with, "" for the
	// same.
	Program, Begins string
	// Flags and env are added to the program's own.
	Flags, Env []string
	// Linked says that every way to the database goes through a proxy.
	Linked bool
	// Timeout is the service's time for a request; 0 is the usual.
	Timeout time.Duration
	// Clock is whose clock is moved, "" for nobody's.
	Clock string
	// Points says that the program has fault points, and can have a clock of its own.
	Points bool
	// Jobs says that the instances fetch a catalogue, with the cell's lock as that
	// of jobs.
	Jobs bool
	// NewBase makes the database in a way of its own; nil is the usual.
	NewBase func(g *Ground, s *harness.Site, kind string) *Base
}

// Limit is the service's time for a request.
func (s *Scene) Limit() time.Duration {
	if s.Timeout == 0 {
		return usualTimeout
	}
	return s.Timeout
}

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
