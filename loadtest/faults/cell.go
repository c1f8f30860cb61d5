package main

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/harness"
)

// experiment is one fault, or a handful of one sort, and where it is tried.
type experiment struct {
	name string
	// number is that of the list of faults that the service must survive, 0
	// for those that are not on it.
	number int
	// places are where it is tried; nil is everywhere.
	places []place
	// points says that the program needs fault points.
	points bool
	// links says that every way to the database goes through a proxy.
	links bool
	// internal allows answers 500 with an unknown outcome.
	internal bool
	// flags are added to the program's own.
	flags []string
	// timeout is the service's time for a request; 0 is the usual.
	timeout time.Duration
	// clock is whose clock the experiment moves, "" for nobody's.
	clock string
	// tries is the program that is tried; "" is the released one.
	tries string
	// begins is the program that the instances begin with; "" is the one that is
	// tried.
	begins string
	// jobs says that the instances fetch a catalogue, with the cell's lock as that
	// of jobs.
	jobs bool
	// own says that run makes its own load; otherwise it is under load while it
	// runs, and returns when the fault has ended.
	own bool
	// soaks says that the soak may use it.
	soaks bool
	// loses says that acknowledged changes must be lost, and no other rule broken.
	loses bool
	// base makes the cell's database in a way of its own; nil is the usual.
	base func(g *ground, s *harness.Site, kind string) *base
	run  func(t *trial) error
}

// trial is a trial on which the experiments make their faults.
type trial struct{ *Trial }

// make makes the fault, on a trial that is under load.
func (e experiment) make(t *Trial) error { return e.run(&trial{t}) }

// cell is one experiment at one place.
type cell struct {
	experiment
	place
	// program is what is tried.
	program string
	env     []string
	// condemned are the rules of which a program that is broken has to break
	// one; nil is a program in order.
	condemned []string
}

// scene is what the cell needs on the stage.
func (c cell) scene() scene {
	return scene{
		place: c.place, program: c.program, begins: c.begins, flags: c.flags, env: c.env, linked: c.links,
		timeout: c.timeout, clock: c.clock, jobs: c.jobs, newBase: c.base,
	}
}

// expected is what the cell brings with it.
func (c cell) expected() expected {
	return expected{internal: c.internal, condemned: c.condemned != nil, loses: c.loses}
}

// show makes the fault, under load unless it makes its own.
func (c cell) show(t *Trial) error {
	if c.own {
		return c.make(t)
	}
	return t.underLoad(func() error { return c.make(t) })
}

// name tells the cell from all others.
func (c cell) name() string {
	parts := []string{c.experiment.name, harness.DatabaseName(c.database), c.mode}
	if c.lock != "" {
		parts = append(parts, c.lock+":")
	}
	if c.instances > 1 {
		parts = append(parts, fmt.Sprintf("×%d", c.instances))
	}
	if _, ok := doubleOf(c.program); ok {
		parts = append([]string{c.program}, parts...)
	}
	if c.condemned != nil {
		parts = append([]string{"CONTROL"}, parts...)
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// seedOf is the seed of one run of one cell, so that it can be replayed
// without those before it.
func seedOf(seed uint64, name string, run int) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, seed, name, run) // never fails
	return h.Sum64()
}

// everywhere is every mode on every database: a file has one instance, a
// server as many as are named.
func everywhere(instances int) []place {
	return at(instances, "sqlite", "postgres", "mysql")
}

// at is every mode on the named databases.
func at(instances int, databases ...string) []place {
	var all []place
	for _, database := range databases {
		for _, mode := range lockmode.Names() {
			p := place{database: database, mode: mode, instances: instances}
			if mode == lockmode.External {
				p.lock = "table"
			}
			if database == "sqlite" {
				p.instances = 1
			}
			all = append(all, p)
		}
	}
	return all
}

// servers is every mode on both servers, with two instances.
func servers() []place { return at(2, "postgres", "mysql") }
