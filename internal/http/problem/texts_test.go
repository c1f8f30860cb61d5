package problem_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/problem"
	"drawsvc/internal/ui"
)

// saidCodes returns the codes that a file of texts of the admin page has a sentence for.
func saidCodes(file string) (codes []string) {
	_, group, _ := strings.Cut(file, "\n  errors: {\n")
	group, _, _ = strings.Cut(group, "\n  },\n")
	for _, m := range regexp.MustCompile(`(?m)^    "?([a-z-]+)"?: "`).FindAllStringSubmatch(group, -1) {
		codes = append(codes, m[1])
	}
	slices.Sort(codes)
	return codes
}

// TestThePageHasASentenceForEachCode of the table, and for an answer that did not come.
// That all languages have the same is tested with the page.
func TestThePageHasASentenceForEachCode(t *testing.T) {
	t.Parallel()
	want := []string{"no-answer"}
	for code := range problem.Table() {
		want = append(want, string(code))
	}
	slices.Sort(want)
	file, found := ui.Open("text.en.js")
	require.True(t, found)
	require.Equal(t, want, saidCodes(string(file.Body)))
}

// TestThePageHasASentenceForEachCodeReads only sentences of the group.
func TestThePageHasASentenceForEachCodeReads(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"a-b", "c"}, saidCodes("{\n  x: {\n    d: \"no\",\n  },\n  errors: {\n    \"a-b\": \"x\",\n    c: \"y\",\n  },\n};\n"))
}
