package fault_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// traces are what a fault leaves in a program that has it.
func traces() []string {
	return []string{"drawsvc/internal/fault.", ".applySplit", "DRAWSVC_FAULTS", "DRAWSVC_UNGUARDED"}
}

// found builds the program with the tags and returns the traces in its symbols
// and texts.
func found(t *testing.T, tags string) (there []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "drawsvc")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", tags, "-o", file, "drawsvc/cmd/drawsvc").CombinedOutput()
	require.NoError(t, err, "%s", output)
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", file).Output()
	require.NoError(t, err)
	require.Contains(t, string(symbols), "drawsvc/internal/stock.", "the symbols are there to be searched")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, trace := range traces() {
		if bytes.Contains(symbols, []byte(trace)) || bytes.Contains(text, []byte(trace)) {
			there = append(there, trace)
		}
	}
	return there
}

func TestTheReleasedProgramHasNoFaults(t *testing.T) {
	require.Empty(t, found(t, ""))
}

func TestTheSearchFindsFaultsWhereTheyAre(t *testing.T) {
	require.Equal(t, traces(), found(t, "faults"))
}
