package harness_test

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
)

// TestMemoryIsTheCommands: the measured memory is the command's own, not that of the
// program that started it.
func TestMemoryIsTheCommands(t *testing.T) {
	const own = 256 << 20
	room := make([]byte, own)
	for i := range room {
		room[i] = 1
	}
	m, err := harness.Measure(exec.CommandContext(t.Context(), "sleep", "0.5"))
	require.NoError(t, err)
	require.NotZero(t, m.Memory)
	require.Less(t, m.Memory, int64(own/4))
	runtime.KeepAlive(room)
}
