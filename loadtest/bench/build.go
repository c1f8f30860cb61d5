package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	"drawsvc/loadtest/harness"
)

// bin is where everything is built to, from the root of the repository.
const bin = "loadtest/bin"

// engineTest is the compiled benchmark of the engine alone.
const engineTest = "engine.test"

// build makes the service, the rulers and the benchmark of the engine, each
// from its own go.mod, so that versions are pinned.
func build(ctx context.Context, withEngine bool) error {
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is not installed: apt-get install wrk (.ci/packages does)")
	}
	return harness.Build(ctx, "loadtest/bench/draw.lua", bin, func(to string) [][]string {
		builds := [][]string{
			{"build", "-trimpath", "-o", to + "/", "./cmd/drawsvc", "./loadtest/bench/noop"},
			{"build", "-C", "loadtest/textbook", "-trimpath", "-o", to + "/", "./for-update", "./redis-lua"},
		}
		if withEngine {
			builds = append(builds, []string{"test", "-c", "-o", filepath.Join(to, engineTest), "./internal/lockmode"})
		}
		return builds
	})
}
