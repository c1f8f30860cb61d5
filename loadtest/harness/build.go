package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build runs the go command once for each list of arguments, which name what is
// to be built in the folder that they are given, as an absolute path; it is made
// where it is missing. The needed file tells the root of the repository, which
// has to be the working directory.
func Build(ctx context.Context, needed, folder string, builds func(to string) [][]string) error {
	if _, err := os.Stat(needed); err != nil {
		return errors.New("run it at the root of the repository")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	to, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for _, args := range builds(to) {
		if err := Go(ctx, "", args...); err != nil {
			return err
		}
	}
	return nil
}

// Go runs the go command in a folder, "" for the working directory.
func Go(ctx context.Context, folder string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}
