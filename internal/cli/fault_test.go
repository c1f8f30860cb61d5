package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// traces returns the texts that the fault points of package fault leave in a program that
// contains them.
func traces() []string {
	return []string{"drawsvc/internal/fault.", ".writeInSteps", "DRAWSVC_FAULTS", "DRAWSVC_UNGUARDED", "DRAWSVC_CLOCK"}
}

// buildAsTested returns the command that builds a program, with further tags and with the
// flags of this test. So the build can use the packages that other tests have compiled;
// with other flags it would compile all of them again. As in the Makefile, the compiler
// collects no garbage.
func buildAsTested(ctx context.Context, file, program string, tags ...string) *exec.Cmd {
	args := []string{"build", "-o", file, "-toolexec=env GOGC=off GOMEMLIMIT=1500MiB"}
	info, _ := debug.ReadBuildInfo() // a test always has build information
	for _, s := range info.Settings {
		switch s.Key {
		case "-race", "-gcflags":
			args = append(args, s.Key+"="+s.Value)
		case "-tags":
			tags = append(tags, s.Value)
		}
	}
	return exec.CommandContext(ctx, "go", append(args, "-tags", strings.Join(tags, ","), program)...)
}

// found builds the program with further tags. It returns the traces of package fault in
// its file: symbols, names of inlined functions, and texts.
func found(t *testing.T, tags ...string) (there []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "drawsvc")
	output, err := buildAsTested(t.Context(), file, "../../cmd/drawsvc", tags...).CombinedOutput()
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

// TestTheReleasedProgramHasNoFaults: without the tag, the program contains no trace of
// the faults.
func TestTheReleasedProgramHasNoFaults(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	require.Empty(t, found(t))
}

func TestTheSearchFindsFaultsWhereTheyAre(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	require.Equal(t, traces(), found(t, "faults"))
}
