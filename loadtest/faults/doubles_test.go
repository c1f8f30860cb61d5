package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDoublesAreMadeOfTheSource: what a double replaces is in the source as it
// is now, once.
func TestDoublesAreMadeOfTheSource(t *testing.T) {
	t.Parallel()
	for _, d := range edited() {
		file, err := d.overlay("../..", t.TempDir())
		require.NoError(t, err, d.program)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), d.program)
	}
	for _, text := range []string{"no such " + "text", "package draw"} {
		_, err := (&double{"bad", "", []edit{{text, ""}}}).overlay("../..", t.TempDir())
		require.ErrorContains(t, err, "has to hold it once")
	}
}

// TestEveryDoubleIsCondemned: a double that no cell tries shows nothing.
func TestEveryDoubleIsCondemned(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range controls() {
		tried[c.program] = true
	}
	for _, d := range doubles() {
		require.True(t, tried[d.program], d.program)
	}
}
