package house

import (
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// missingTests returns the tests that a page names in code and that no file has.
func missingTests(page string, sources []string) (missing []string) {
	for _, named := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(page, -1) {
		declared := "func " + named[1] + "("
		found := false
		for _, source := range sources {
			found = found || strings.Contains(source, declared)
		}
		if !found {
			missing = append(missing, named[1])
		}
	}
	return missing
}

// missingParts returns the subtests that a page names in parentheses after a test, and
// that no file has at the end of a string.
func missingParts(page string, sources []string) (missing []string) {
	for _, named := range regexp.MustCompile("`Test\\w+` \\(([^)]+)\\)").FindAllStringSubmatch(page, -1) {
		for part := range strings.SplitSeq(named[1], ", ") {
			if !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, part+`"`) }) {
				missing = append(missing, part)
			}
		}
	}
	return missing
}

// TestPromisesNameTheirTests: every test that the design page names exists, and so does
// every subtest.
func TestPromisesNameTheirTests(t *testing.T) {
	var sources, suites []string
	for _, path := range files(t, ".go") {
		if text := read(t, path); strings.HasSuffix(path, "_test.go") {
			sources = append(sources, text)
		} else if strings.HasSuffix(filepath.Dir(path), "test") { // of stocktest, lockertest
			suites = append(suites, text)
		}
	}
	page := read(t, "docs/design.md")
	require.Empty(t, missingTests(page, sources))
	require.Equal(t, []string{"TestThatIsNotThere"}, missingTests(page+"`TestThatIsNotThere`", sources), "what is not there is missed")
	suites = append(suites, sources...)
	require.Empty(t, missingParts(page, suites))
	absent := "part that " + "is nowhere"
	require.Equal(t, []string{absent}, missingParts("`TestMatrix` (fresh, "+absent+")", suites), "what is not there is missed")
}

// TestLawsAreOnThePage: every law that a comment cites is on the page.
func TestLawsAreOnThePage(t *testing.T) {
	page := read(t, "docs/design.md")
	cited := regexp.MustCompile(`\blaws? (\d+)\b`)
	laws := map[string]bool{}
	for _, law := range regexp.MustCompile(`(?m)^(\d+)\. \*\*`).FindAllStringSubmatch(page, -1) {
		laws[law[1]] = true
	}
	require.Len(t, laws, 10)
	citations := 0
	for _, path := range files(t, ".go") {
		for _, law := range cited.FindAllStringSubmatch(read(t, path), -1) {
			citations++
			require.True(t, laws[law[1]], "%s cites %s", path, law[0])
		}
	}
	require.Positive(t, citations)
}

// rooms returns the packages of a page's table of rooms. For each it returns the packages
// of this repository that it imports. A row of several packages lists what any of them
// imports.
func rooms(page string) map[string]string {
	all := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`internal/[^|]+) \\|[^|]+\\| ([^|]+) \\|$").FindAllStringSubmatch(page, -1) {
		imports := strings.Split(row[2], ", ")
		slices.Sort(imports)
		all[strings.ReplaceAll(row[1], "`", "")] = strings.Join(imports, ", ")
	}
	return all
}

// TestRoomsImportWhatThePageSays: the imports in the table of rooms are those of the
// code.
func TestRoomsImportWhatThePageSays(t *testing.T) {
	const format = "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}"
	list, err := exec.CommandContext(t.Context(), "go", "list", "-f", format, "drawsvc/internal/...").Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		for _, path := range fields[1:] {
			if ours, isOurs := strings.CutPrefix(path, "drawsvc/"); isOurs {
				room := strings.TrimPrefix(fields[0], "drawsvc/")
				imports[room] = append(imports[room], strings.TrimPrefix(ours, "internal/"))
			}
		}
	}
	drawn := rooms(read(t, "docs/design.md"))
	require.Greater(t, len(drawn), 20)
	for row, said := range drawn {
		var found []string
		dir := path.Dir(strings.Split(row, ", ")[0])
		for name := range strings.SplitSeq(row, ", ") {
			found = append(found, imports[path.Join(dir, path.Base(name))]...)
		}
		slices.Sort(found)
		if found = slices.Compact(found); len(found) == 0 {
			found = []string{"none"}
		}
		require.Equal(t, said, strings.Join(found, ", "), row)
	}
}
