package experiments

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// place is where a pool lives, how its draws are kept apart, and how many
// instances serve it.
type place struct {
	database  string
	mode      string
	lock      string // in external mode
	instances int
}

// Experiment is one fault, or a handful of one sort, and where it is tried.
type Experiment struct {
	Name string
	// Number is that of the list of faults that the service must survive, 0
	// for those that are not on it.
	Number int
	// places are where it is tried; nil is everywhere.
	places []place
	// points says that the program needs fault points.
	points bool
	// links says that every way to the database goes through a proxy.
	links bool
	// Internal allows answers 500 with an unknown outcome.
	Internal bool
	// codes are further codes of answers 503 that the experiment causes.
	codes []string
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
	// jobs are those that the fault is about; with any, the instances fetch a
	// catalogue, with the cell's lock as that of jobs.
	jobs []string
	// own says that run makes its own load; otherwise it is under load while it
	// runs, and returns when the fault has ended.
	own bool
	// soaks says that the soak may use it.
	soaks bool
	// Longest is the longest that a cell may take; 0 is the usual.
	Longest time.Duration
	// loses says that acknowledged changes must be lost, and no other rule broken.
	loses bool
	// base makes the cell's database in a way of its own; nil is the usual.
	base func(g *stage.Ground, s *harness.Site, kind string) *stage.Base
	run  func(t *trial) error
}

// trial is a trial on which the experiments make their faults.
type trial struct{ *client.Trial }

// Make makes the fault, on a trial that is under load.
func (e Experiment) Make(t *client.Trial) error {
	return harness.Caught(func() error { return e.run(&trial{t}) })
}

// control is a cell of a program in order and its experiment's first place, where the
// experiment has a flaw and must say so itself.
func (e Experiment) control(flaw string) Cell {
	c := e.at(e.places[0])
	c.Flaw, c.Condemned = flaw, []string{history.Fault}
	return c
}

// doubled is a cell of a broken double, where the experiment must say so itself.
func doubled(e Experiment, program string, p place) Cell {
	return Cell{Experiment: e, place: p, Program: program, Condemned: []string{history.Fault}}
}

// Cell is one experiment at one place.
type Cell struct {
	Experiment
	place
	// Program is what is tried.
	Program string
	env     []string
	// Condemned are the rules of which a program that is broken has to break
	// one; nil is a program in order.
	Condemned []string
	// Flaw is what is wrong with a control whose program is in order, such as its
	// flags.
	Flaw string
}

// Scene is what the cell needs on the stage.
func (c Cell) Scene() stage.Scene {
	return stage.Scene{
		Database: c.database, Mode: c.mode, Lock: c.lock, Instances: c.instances, Program: c.Program, Begins: c.begins, Flags: c.flags, Env: c.env, Linked: c.links,
		Timeout: c.timeout, Clock: c.clock, Points: c.Program == stage.Faulty || history.HasPoints(c.Program), Jobs: c.jobs != nil, NewBase: c.base,
	}
}

// Expected is what the cell brings with it.
func (c Cell) Expected() client.Expected {
	codes := c.codes
	if c.clock == stage.ClockOfDatabase {
		codes = append(slices.Clone(codes), "clock-leapt")
	}
	return client.Expected{Internal: c.Internal, Codes: codes, Condemned: c.Condemned != nil, Loses: c.loses}
}

// Show makes the fault, under load unless it makes its own.
func (c Cell) Show(t *client.Trial) error {
	if c.own {
		return c.Make(t)
	}
	return t.UnderLoad(func() error { return c.Make(t) })
}

// Jobs are those that the cell is about.
func (c Cell) Jobs() []string { return c.jobs }

// Name tells the cell from all others.
func (c Cell) Name() string {
	parts := []string{c.Experiment.Name, harness.DatabaseName(c.database), c.mode}
	if c.lock != "" {
		parts = append(parts, c.lock+":")
	}
	if c.instances > 1 {
		parts = append(parts, fmt.Sprintf("×%d", c.instances))
	}
	if _, ok := history.DoubleOf(c.Program); ok {
		parts = append([]string{c.Program}, parts...)
	}
	if c.Condemned != nil {
		parts = append([]string{"CONTROL"}, parts...)
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// SeedOf is the seed of one run of one cell, so that it can be replayed
// without those before it.
func SeedOf(seed uint64, name string, run int) uint64 {
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
