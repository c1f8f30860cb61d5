package main

import (
	"context"
	"path/filepath"

	"drawsvc/loadtest/site"
)

// bin is where everything is built to, from the root of the repository.
const bin = "loadtest/bin/faults"

// The programs.
const (
	released = "drawsvc"        // what users run
	faulty   = "drawsvc-faults" // the same with fault points
	textbook = "broken"         // over-issues
)

// build makes the programs.
func build(ctx context.Context) error {
	return site.Build(ctx, "loadtest/textbook/go.mod", bin, func(to string) [][]string {
		return [][]string{
			{"build", "-trimpath", "-o", filepath.Join(to, released), "./cmd/drawsvc"},
			{"build", "-trimpath", "-tags", "faults", "-o", filepath.Join(to, faulty), "./cmd/drawsvc"},
			{"build", "-C", "loadtest/textbook", "-o", filepath.Join(to, textbook), "./broken"},
		}
	})
}
