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

// saidCodes returns the codes for which a file of texts of the admin page has a sentence.
func saidCodes(file string) (codes []string) {
	_, group, _ := strings.Cut(file, "\n  errors: {\n")
	group, _, _ = strings.Cut(group, "\n  },\n")
	for _, m := range regexp.MustCompile(`(?m)^    "?([a-z-]+)"?: "[^"]`).FindAllStringSubmatch(group, -1) {
		codes = append(codes, m[1])
	}
	slices.Sort(codes)
	return codes
}

// saysEachCode reports whether a file of texts has the right sentences: one for each code
// of the table, one for an answer that did not arrive, and no others.
func saysEachCode(file string) bool {
	want := []string{"no-answer"}
	for code := range problem.Table() {
		want = append(want, string(code))
	}
	slices.Sort(want)
	return slices.Equal(want, saidCodes(file))
}

// TestThePageHasASentenceForEachCode: a file that lacks the sentence of a code, has an
// empty one, or has a sentence for another code is rejected. The tests of the page check
// that all languages have the same texts.
func TestThePageHasASentenceForEachCode(t *testing.T) {
	t.Parallel()
	file, found := ui.Open("text.en.js")
	require.True(t, found)
	english := string(file.Body)
	require.True(t, saysEachCode(english), "%v", saidCodes(english))
	for code := range problem.Table() {
		line := regexp.MustCompile(`(?m)^    "?` + string(code) + `"?: ".*",\n`)
		for _, other := range []string{"", "    \"another-code\": \"No.\",\n", "    \"" + string(code) + "\": \"\",\n"} {
			at := strings.Index(english, "\n  errors: {\n")
			broken := english[:at] + line.ReplaceAllString(english[at:], other)
			require.NotEqual(t, english, broken, code)
			require.False(t, saysEachCode(broken), "%s: %q", code, other)
		}
	}
}
