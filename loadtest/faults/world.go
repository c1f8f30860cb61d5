package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// world is the stage of one cell: database, lock service, instances, and the
// ways between them.
type world struct {
	*harness.Site
	scene
	ctx    context.Context
	ground *ground
	*base
	// links are the ways to the database, one for each instance; lockLinks
	// those to the lock service.
	links, lockLinks []*servertest.Proxy
	lockServers      []*servertest.Server
	lockURL          string
	// clockMoved is the clock that the cell may move, nil for none.
	clockMoved *clock
	// source is that of the catalogue, nil where the cell has none.
	source    *source
	instances []*instance
	client    *http.Client
	// calm is the number of goroutines of an instance before any load.
	calm []float64
}

const (
	// usualTimeout is the service's time for a request: short, so that many
	// faults fit into an hour.
	usualTimeout = 2 * time.Second
	// lockTTL bounds how long a dead holder keeps the lock.
	lockTTL = 2 * time.Second
	// outputMax is how much of an instance's output is kept, in bytes.
	outputMax = 16 << 10
	// grace is how much later than its time an answer may come.
	grace = 500 * time.Millisecond
)

// newWorld starts everything that the cell needs.
func newWorld(ctx context.Context, s *harness.Site, g *ground, c scene) (*world, error) {
	w := &world{Site: s, scene: c, ctx: ctx, ground: g, client: newClient()}
	s.Cleanup(w.client.CloseIdleConnections)
	switch {
	case c.newBase != nil:
		w.base = c.newBase(g, s, c.database)
	case c.clock == clockOfDatabase:
		w.base = g.database(s, c.database, w.clocked(c.database))
	case c.database == "sqlite":
		w.base = g.database(s, c.database, nil)
	default:
		w.base = g.database(s, c.database, g.server(s, c.database))
	}
	w.openLock()
	if c.jobs {
		var err error
		if w.source, err = newSource(s); err != nil {
			return nil, err
		}
	}
	if c.linked && w.server != nil {
		for range c.instances {
			w.links = append(w.links, servertest.StartProxy(s, w.url))
		}
	}
	for n := range c.instances {
		i, err := w.newInstance(n)
		if err != nil {
			return nil, err
		}
		w.instances = append(w.instances, i)
		if err := i.start(); err != nil {
			return nil, err
		}
		s.Cleanup(i.kill)
	}
	for _, i := range w.instances {
		if err := i.awaitReady(ctx); err != nil {
			return nil, err
		}
		w.calm = append(w.calm, w.metrics(i)["go_goroutines"])
	}
	return w, nil
}

// newInstance prepares an instance on an address that stays its own.
func (w *world) newInstance(n int) (*instance, error) {
	address, err := harness.FreeAddress(w.ctx)
	if err != nil {
		return nil, err
	}
	url := w.urlOf(n)
	if len(w.links) > 0 {
		url = w.links[n].URL()
	}
	i := &instance{
		number: n, program: cmp.Or(w.begins, w.program), address: address, output: harness.NewTail(outputMax), env: w.env,
		control: filepath.Join(w.Site.TempDir(), "control"),
	}
	i.args = []string{"--listen", address, "--database", url}
	if w.program == textbook {
		return i, nil
	}
	i.args = harness.ServeArgs(address, url, w.mode, "--lock", w.lockURL,
		"--request-timeout", w.limit().String(), "--lock-ttl", lockTTL.String(), "--lock-wait", (w.limit() / 2).String())
	i.args = append(i.args, w.flags...)
	if w.jobs {
		i.args = append(i.args, w.source.flags(n, w.lockURL)...)
	}
	return i, nil
}

// openLock gives the cell a lock service with keys of its own.
func (w *world) openLock() {
	scheme, count, _ := strings.Cut(w.lock, "×")
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
		if w.clock == clockOfLock {
			server = w.clocked(scheme)
		} else {
			server = w.ground.server(w.Site, fmt.Sprintf("%s %d", scheme, n+1))
		}
		link := servertest.StartProxy(w.Site, server.Addr())
		w.lockServers, w.lockLinks = append(w.lockServers, server), append(w.lockLinks, link)
		addresses = append(addresses, link.Addr())
	}
	w.lockURL = scheme + "://" + strings.Join(addresses, ",")
	switch scheme {
	case "redis":
		w.lockURL += "/0"
	case "zookeeper":
		w.lockURL += "/faults-" + strings.ToLower(rand.Text())
	}
}

// end stops the instances in good order.
func (w *world) end() error {
	var all error
	for _, i := range w.instances {
		if died, err := i.died(); died {
			all = errors.Join(all, fmt.Errorf("instance %d ended by itself: %w", i.number, err))
			continue
		}
		if w.program == textbook {
			i.kill()
			continue
		}
		all = errors.Join(all, i.stop())
	}
	return all
}

// printed is what the instances printed.
func (w *world) printed() string {
	var b strings.Builder
	for _, i := range w.instances {
		fmt.Fprintf(&b, "--- instance %d printed at its end:\n%s\n", i.number, i.output)
	}
	return b.String()
}
