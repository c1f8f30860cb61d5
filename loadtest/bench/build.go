package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// engineTest is the compiled benchmark of the engine only.
const engineTest = "engine.test"

// build builds the service, the programs that it is compared with, and, if needed, k6 or
// the benchmark of the engine. Each is built with its own go.mod, so that versions are
// pinned.
func build(ctx context.Context, withEngine, withK6 bool) error {
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is not installed: apt-get install wrk (.ci/packages does)")
	}
	programs := place.Service()
	programs.Packages = append(programs.Packages, "./loadtest/bench/noop")
	err := place.Build(ctx, place.Bin, programs, place.Textbook("./for-update", "./redis-lua"))
	if err == nil && withK6 {
		err = place.Build(ctx, place.Bin, place.K6())
	}
	if err == nil && withEngine {
		err = buildEngine(ctx, "", place.Bin)
	}
	return err
}

// buildEngine compiles the benchmark of the engine of a tree.
func buildEngine(ctx context.Context, tree, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	return harness.Go(ctx, tree, "test", "-c", "-o", filepath.Join(to, engineTest), "./internal/lockmode")
}

// engineCallers is how many callers wait at once in the benchmark of the engine.
const engineCallers = 2048

// measureEngine runs the Go benchmark of the engine, which starts its own database.
func (b *benchmark) measureEngine(ctx context.Context, c candidate, f figures) error {
	name := "Engine"
	if c.committed {
		name += "Committed"
	}
	name = fmt.Sprintf("^Benchmark%s$/^dialect=%s$/^callers=%d$", name, c.database, engineCallers)
	program, folder := filepath.Join(place.Bin, engineTest), ""
	if c.tree != "" {
		program, folder = filepath.Join(b.other.bin, engineTest), b.other.folder
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", name, "-test.benchtime", fmt.Sprintf("%ds", b.seconds))
	cmd.Dir = filepath.Join(folder, "internal/lockmode")
	output, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("the benchmark of the engine: %w\n%s", err, output), ctx.Err())
	}
	f[perSecond], err = parseBenchmark(output)
	return err
}

func parseBenchmark(output []byte) (float64, error) {
	m := regexp.MustCompile(`(?m)^BenchmarkEngine\w*/.*\s([0-9.e+]+) draws/s`).FindSubmatch(output)
	if m == nil {
		return 0, fmt.Errorf("the benchmark of the engine tells no draws/s:\n%s", output)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
