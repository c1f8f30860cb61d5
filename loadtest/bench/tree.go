package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"drawsvc/loadtest/harness"
)

// otherTree is another commit of this repository, which is measured in turn
// with the tree that the working directory holds.
type otherTree struct {
	// commit is short, but enough to name it.
	commit string
	// folder holds its files, bin its programs.
	folder, bin string
}

// checkOut puts a commit into a folder of its own, which the site removes. The
// repository's own files, its index and its branches stay as they are.
func checkOut(ctx context.Context, s *harness.Site, commit string) (*otherTree, error) {
	short, err := git(ctx, "rev-parse", "--short", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("against %s: this repository has no such commit%s", commit, because(short))
	}
	whole, err := os.MkdirTemp("", "drawsvc-against-")
	if err != nil {
		return nil, err
	}
	t := &otherTree{commit: short, folder: filepath.Join(whole, "tree"), bin: filepath.Join(whole, "bin")}
	s.Cleanup(func() {
		// The interrupted run cleans up, too.
		_, _ = git(context.WithoutCancel(ctx), "worktree", "remove", "--force", t.folder)
		_ = os.RemoveAll(whole)
	})
	if text, err := git(ctx, "worktree", "add", "--quiet", "--detach", t.folder, short); err != nil {
		return nil, fmt.Errorf("against %s: git worktree add: %w%s", commit, err, because(text))
	}
	return t, nil
}

// because adds what a program said, where it said something.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

// build makes the other tree's service and, where it is needed, its benchmark
// of the engine. All else that measures is this tree's.
func (t *otherTree) build(ctx context.Context, withEngine bool) error {
	if err := os.MkdirAll(t.bin, 0o755); err != nil {
		return err
	}
	builds := [][]string{{"build", "-trimpath", "-o", t.bin + "/", "./cmd/drawsvc"}}
	if withEngine {
		builds = append(builds, []string{"test", "-c", "-o", filepath.Join(t.bin, engineTest), "./internal/lockmode"})
	}
	for _, args := range builds {
		err := harness.Go(ctx, t.folder, args...)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			return fmt.Errorf("against %s: it does not build: %w", t.commit, err)
		}
	}
	return nil
}
