package main

import (
	"time"

	"drawsvc/loadtest/harness"
)

// bin is where everything is built to, from the root of the repository.
const bin = "loadtest/bin/faults"

// The programs, beside the doubles.
const (
	released = "drawsvc"        // what users run
	faulty   = "drawsvc-faults" // the same with fault points
	textbook = "broken"         // over-issues
	// ahead is the service's next release, whose schema adds.
	ahead = "drawsvc-ahead"
)

// place is where a pool lives, how its draws are kept apart, and how many
// instances serve it.
type place struct {
	database  string
	mode      string
	lock      string // in external mode
	instances int
}

// scene is what a cell needs on the stage.
type scene struct {
	place
	// program is what is tried, begins what the instances begin with, "" for the
	// same.
	program, begins string
	// flags and env are added to the program's own.
	flags, env []string
	// linked says that every way to the database goes through a proxy.
	linked bool
	// timeout is the service's time for a request; 0 is the usual.
	timeout time.Duration
	// clock is whose clock is moved, "" for nobody's.
	clock string
	// jobs says that the instances fetch a catalogue, with the cell's lock as that
	// of jobs.
	jobs bool
	// newBase makes the database in a way of its own; nil is the usual.
	newBase func(g *ground, s *harness.Site, kind string) *base
}

// limit is the service's time for a request.
func (s *scene) limit() time.Duration {
	if s.timeout == 0 {
		return usualTimeout
	}
	return s.timeout
}
