package stage

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/loadtest/harness"
)

// Bin is where everything is built to, from the root of the repository.
const Bin = "loadtest/bin/faults"

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
	// Database, mode, lock and instances are where a pool lives, how its draws are
	// kept apart, in external mode by which lock, and how many instances serve it.
	Database, Mode, Lock string
	Instances            int
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
