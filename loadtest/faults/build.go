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
const bin = "loadtest/bin/faults"

// The programs.
const (
	released = "drawsvc"        // what users run
	faulty   = "drawsvc-faults" // the same with fault points
	textbook = "broken"         // over-issues
)

// build makes the programs.
func build(ctx context.Context) error {
	if _, err := os.Stat("loadtest/textbook/go.mod"); err != nil {
		return errors.New("run it at the root of the repository")
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	to, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"build", "-trimpath", "-o", filepath.Join(to, released), "./cmd/drawsvc"},
		{"build", "-trimpath", "-tags", "faults", "-o", filepath.Join(to, faulty), "./cmd/drawsvc"},
		{"build", "-C", "loadtest/textbook", "-o", filepath.Join(to, textbook), "./broken"},
	} {
		if output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, output)
		}
	}
	return nil
}
