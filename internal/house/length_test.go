package house

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linesMax is the most lines of a file of Go, tests included.
const linesMax = 500

// TestFilesAreShort: the linter holds the code to linesMax, this all files of Go.
func TestFilesAreShort(t *testing.T) {
	for _, path := range files(t, ".go") {
		require.LessOrEqual(t, strings.Count(read(t, path), "\n"), linesMax, path)
	}
}
