package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
)

// TestWhatIsWrittenHolds: both verifiers accept the generated files like those of a
// pool that clients drew from, so that a complete verification is measured.
func TestWhatIsWrittenHolds(t *testing.T) {
	folder := t.TempDir()
	size, err := write(folder, 5000, 100)
	require.NoError(t, err)
	info, err := os.Stat(folder + "/log.jsonl")
	require.NoError(t, err)
	require.Equal(t, info.Size(), size)
	r, err := proof.Verify(os.DirFS(folder), proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.EqualValues(t, 5000, r.Recomputed)
}
