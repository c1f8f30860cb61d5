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

// build makes k6, the service and the textbook programs, each from its own
// go.mod, so that versions are pinned.
func build(ctx context.Context) error {
	if _, err := os.Stat("loadtest/k6/go.mod"); err != nil {
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
		{"build", "-C", "loadtest/k6", "-o", filepath.Join(to, "k6"), "go.k6.io/k6/v2"},
		{"build", "-C", "loadtest/textbook", "-o", to + "/", "./..."},
		{"build", "-o", filepath.Join(to, service), "./cmd/drawsvc"},
	} {
		if output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, output)
		}
	}
	return nil
}
