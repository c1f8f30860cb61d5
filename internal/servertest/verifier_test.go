package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecondVerifierIsTheProgram: a verifier that was used before gives the same answers
// as a new one. No call changes later answers.
func TestSecondVerifierIsTheProgram(t *testing.T) {
	NeedPrograms(t, "python3", "python3")
	const program = "../../docs/verify/verify.py"
	empty, vectors := t.TempDir(), filepath.Join(t.TempDir(), "vectors.json")
	require.NoError(t, os.WriteFile(vectors, []byte("{"), 0o600))
	for range 2 {
		for exit, args := range map[int][]string{
			0: {"--help"},
			1: {"--vectors", vectors}, // these end with a traceback
			2: {empty, "--key", "none\n\"é"},
			3: {empty},
		} {
			command := exec.CommandContext(t.Context(), "python3", append([]string{program}, args...)...)
			want, _ := command.CombinedOutput()
			require.Equal(t, exit, command.ProcessState.ExitCode(), "%s", want)
			code, said := SecondVerifier(t, args...)
			require.Equal(t, exit, code, said)
			if exit != 1 { // a traceback contains the caller, so it differs
				require.Equal(t, string(want), said)
			}
		}
	}
}
