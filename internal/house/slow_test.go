package house

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrongSlow returns what is wrong with the list of slow tests; tests are all tests as
// "./PACKAGE NAME". A line that names no test is wrong. A test is wrong if its name is
// excluded and its package is not in the list, because nothing runs it. Tests that are
// only for a release are run by make test-all, which leaves out nothing.
func wrongSlow(list string, tests []string) (wrong []string) {
	var names, packages []string
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSuffix(line, " release")
		if !slices.ContainsFunc(tests, regexp.MustCompile("^"+line+"$").MatchString) {
			wrong = append(wrong, line)
		}
		in, name, _ := strings.Cut(line, " ")
		names, packages = append(names, name), append(packages, in)
	}
	leftOut := regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
	for _, test := range tests {
		in, name, _ := strings.Cut(test, " ")
		if leftOut.MatchString(name) && !slices.Contains(packages, in) {
			wrong = append(wrong, test)
		}
	}
	return wrong
}

// TestSlowTestsAreRun: whatever `make test` leaves out, `make test-rest` runs.
func TestSlowTestsAreRun(t *testing.T) {
	var tests []string
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, file := range files(t, "_test.go") {
		for _, found := range declared.FindAllStringSubmatch(read(t, file), -1) {
			tests = append(tests, fmt.Sprintf("./%s %s", path.Dir(file), found[1]))
		}
	}
	list := read(t, ".ci/slow")
	require.Empty(t, wrongSlow(list, tests))
	require.Equal(t, []string{"./internal/draw TestNowhere"}, wrongSlow(list+"./internal/draw TestNowhere\n", tests))
	elsewhere := "./internal/elsewhere TestBackupPage"
	require.Equal(t, []string{elsewhere}, wrongSlow(list, append(tests, elsewhere)))
}
