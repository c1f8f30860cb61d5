package house

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// skipsQuietly reports whether a file of tests skips tests by itself, instead of by
// servertest. A pipeline with such tests would succeed without having tested anything,
// whereas servertest skips with a visible message, and fails under CI=true.
func skipsQuietly(source string) bool {
	return regexp.MustCompile(`\b\w*(?:t|tb)\.Skip(?:f|Now)?\(`).MatchString(source)
}

// TestSkipsNameWhatIsMissing: a test that lacks something on this machine reports it by
// servertest.
func TestSkipsNameWhatIsMissing(t *testing.T) {
	own := map[string]string{
		"internal/draw/urn/fenwick_test.go": "rapid leaves out a step that is not possible",
		"internal/draw/urn/urn_test.go":     "the same",
		"internal/lockmode/model_test.go":   "the same",
		"internal/draw/rules/zone_test.go":  "its double depends on what the process has read before, and on nothing of the machine",
	}
	for _, path := range files(t, "_test.go") {
		if own[path] == "" && !strings.HasSuffix(path, "house/skips_test.go") {
			require.False(t, skipsQuietly(read(t, path)), path)
		} else if own[path] != "" {
			require.True(t, skipsQuietly(read(t, path)), "%s needs no exception", path)
		}
	}
	for _, bad := range []string{"t.Skip(\"this is no clone\")", "tb.SkipNow()", "rt.Skipf(\"%s\", x)"} {
		require.True(t, skipsQuietly(bad), bad)
	}
	require.False(t, skipsQuietly(`s.Skip("not installed")`))
}
