package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
)

// TestTestsCondemnDoubles: the test that is named for a double passes on the source
// as it is, where it runs with all others, and fails on the double.
func TestTestsCondemnDoubles(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, d := range history.TestedDoubles() {
		t.Run(d.Program, func(t *testing.T) {
			file, err := d.Overlay(root, t.TempDir())
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
