package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// traces are what the points of package fault leave in a program that has them.
func traces() []string {
	return []string{"drawsvc/internal/fault.", ".writeSplit", "DRAWSVC_FAULTS", "DRAWSVC_UNGUARDED"}
}

// asTested are the flags that this test was built with. A program that is built
// alike finds its packages compiled; without them all would be compiled again.
func asTested(t *testing.T) (flags []string, tags string) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	for _, s := range info.Settings {
		switch s.Key {
		case "-race", "-gcflags":
			flags = append(flags, s.Key+"="+s.Value)
		case "-tags":
			tags = s.Value
		}
	}
	return flags, tags
}

// found builds the program, with a further tag, and returns the traces in its
// file: symbols, names of functions that were inlined, and texts.
func found(t *testing.T, tag string) (there []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "drawsvc")
	flags, tags := asTested(t)
	arguments := append(append([]string{"build", "-o", file}, flags...), "-tags", tags+","+tag, ".")
	output, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Contains(content, []byte("drawsvc/internal/stock.")), "the symbols are there to be searched")
	for _, trace := range traces() {
		if bytes.Contains(content, []byte(trace)) {
			there = append(there, trace)
		}
	}
	return there
}

// TestTheReleasedProgramHasNoFaults: without the tag nothing of them is left.
func TestTheReleasedProgramHasNoFaults(t *testing.T) {
	t.Parallel()
	require.Empty(t, found(t, ""))
}

func TestTheSearchFindsFaultsWhereTheyAre(t *testing.T) {
	t.Parallel()
	require.Equal(t, traces(), found(t, "faults"))
}
