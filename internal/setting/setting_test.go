package setting

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestErrorBecomesOneLine: an error of several lines becomes one line, without
// repetitions.
func TestErrorBecomesOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x": "x", "": "", "a\nb\n": "a; b", "cannot connect:\n\th1: no\n\th1: no\n\th2: no": "cannot connect: h1: no; h2: no", "a\n\na\n": "a",
	} {
		require.Equal(t, want, oneLine(text))
	}
}
