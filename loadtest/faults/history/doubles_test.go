package history

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
		file, err := d.Overlay("../../..", t.TempDir())
		require.NoError(t, err, d.Program)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), d.Program)
	}
	for _, text := range []string{"no such " + "text", "package draw"} {
		_, err := (&Double{"bad", "", []edit{{text, ""}}}).Overlay("../../..", t.TempDir())
		require.ErrorContains(t, err, "has to hold it once")
	}
}
