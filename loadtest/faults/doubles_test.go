package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
)

// takesLong reports whether a double takes minutes to build, because most of the service
// depends on the package that it edits.
func takesLong(folder string) bool {
	return slices.Contains([]string{"internal/cli", "internal/http", "internal/lockmode", "internal/stock"}, folder)
}

// TestTestsCondemnDoubles: the test that a double names fails on the double. That it
// passes on the unchanged source is already tested, because it runs there with all other
// tests.
func TestTestsCondemnDoubles(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, d := range history.TestedDoubles() {
		if !servertest.Every() && takesLong(d.Package) {
			t.Logf("%s is left to make test-all", d.Program)
			continue
		}
		t.Run(d.Program, func(t *testing.T) {
			file, err := history.Overlay(root, t.TempDir(), d.Double)
			require.NoError(t, err)
			args := []string{"test", "-count=1", "-overlay", file, "-run", "^" + strings.ReplaceAll(d.Test, "/", "$/^") + "$", "./" + d.Package}
			cmd := exec.CommandContext(t.Context(), "go", append(args, d.Flags...)...)
			cmd.Dir = root
			output, err := cmd.CombinedOutput()
			require.Error(t, err, "%s", output)
			require.Contains(t, string(output), "--- FAIL: "+d.Test+" (", d.Flaw)
		})
	}
}

// TestDoublesCompile: all doubles compile in one build, except one of the two that
// change the same line.
func TestDoublesCompile(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, other := range []string{history.Excludes, history.Ahead} {
		all := slices.DeleteFunc(history.Edited(), func(d history.Double) bool { return d.Program == other })
		file, err := history.Overlay(root, t.TempDir(), all...)
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "faults", "-overlay", file, "./internal/...", "./cmd/...")
		cmd.Dir = root
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
}
