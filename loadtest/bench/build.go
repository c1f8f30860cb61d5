package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// bin is where everything is built to, from the root of the repository.
const bin = "loadtest/bin"

// engineTest is the compiled benchmark of the engine alone.
const engineTest = "engine.test"

// build makes the service, the rulers and the benchmark of the engine, each
// from its own go.mod, so that versions are pinned.
func build(ctx context.Context, withEngine bool) error {
	if _, err := os.Stat("loadtest/bench/draw.lua"); err != nil {
		return errors.New("run it at the root of the repository")
	}
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is not installed: apt-get install wrk (.ci/packages does)")
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	to, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	builds := [][]string{
		{"build", "-trimpath", "-o", to + "/", "./cmd/drawsvc", "./loadtest/bench/noop"},
		{"build", "-C", "loadtest/textbook", "-trimpath", "-o", to + "/", "./for-update", "./redis-lua"},
	}
	if withEngine {
		builds = append(builds, []string{"test", "-c", "-o", filepath.Join(to, engineTest), "./internal/lockmode"})
	}
	for _, args := range builds {
		if output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, output)
		}
	}
	return nil
}
