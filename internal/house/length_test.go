package house

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linesMax is the maximum number of lines of a Go file, including tests.
const linesMax = 500

// TestFilesAreShort: no Go file has more than linesMax lines. The linter does not check
// tests, and does not count comments.
func TestFilesAreShort(t *testing.T) {
	for _, path := range files(t, ".go") {
		require.LessOrEqual(t, strings.Count(read(t, path), "\n"), linesMax, path)
	}
}
