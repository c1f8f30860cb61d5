package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	sectionTitle = regexp.MustCompile(`^## (?:Unreleased|(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2}))$`)
	releaseLine  = regexp.MustCompile(`(?m)^(\d+\.\d+\.\d+) [0-9a-f]{40}$`)
	// kindsOfChange are the kinds of Keep a Changelog, in its order.
	kindsOfChange = []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
)

// changelogFaults returns what is wrong with the form of a changelog, compared with the
// file of releases. Unreleased changes come first. Releases follow with their dates,
// the newest first. Each kind of change occurs once. The first release cannot have
// changed anything.
func changelogFaults(changelog, releases string) (faults []string) {
	var versions, kinds []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	lines := 0
	last := func() {
		if len(kinds) > 0 && lines == 0 {
			fault("%s of %s is empty", kinds[len(kinds)-1], versions[len(versions)-1])
		}
	}
	date := "9999-99-99"
	for line := range strings.Lines(changelog) {
		line = strings.TrimSuffix(line, "\n")
		switch title := sectionTitle.FindStringSubmatch(line); {
		case title != nil:
			last()
			if (title[1] == "") != (len(versions) == 0) {
				fault("%q is not in its place", line)
			}
			if title[2] > date {
				fault("%q is above an older one", line)
			}
			if title[1] != "" {
				date = title[2]
			}
			versions, kinds, lines = append(versions, title[1]), nil, 0
		case strings.HasPrefix(line, "## "):
			fault("%q is neither Unreleased nor VERSION - DATE", line)
		case strings.HasPrefix(line, "### "):
			last()
			kind := strings.TrimPrefix(line, "### ")
			if at := slices.Index(kindsOfChange, kind); at < 0 || len(kinds) > 0 && at <= slices.Index(kindsOfChange, kinds[len(kinds)-1]) {
				fault("%q is no kind of change, or not in its place", line)
			}
			kinds, lines = append(kinds, kind), 0
		case strings.HasPrefix(line, "- "):
			if lines++; len(kinds) == 0 {
				fault("%q is of no kind", line)
			}
		}
	}
	last()
	if len(versions) > 1 && !slices.Equal(kinds, []string{"Added"}) {
		fault("the first release has %v, and can have Added alone", kinds)
	}
	for _, release := range releaseLine.FindAllStringSubmatch(releases, -1) {
		if !slices.Contains(versions, release[1]) {
			fault("release %s has no section", release[1])
		}
	}
	return faults
}

// TestChangelog: the changelog has the form of Keep a Changelog, and a section for each
// release.
func TestChangelog(t *testing.T) {
	require.Empty(t, changelogFaults(read(t, "CHANGELOG.md"), read(t, "RELEASES")))
}

func TestChangelogCatches(t *testing.T) {
	const first = "## 0.1.0 - 2026-11-23\n\n### Added\n- a\n"
	named := "0.1.0 " + strings.Repeat("0", 40) + "\n"
	for _, text := range []string{
		"## Unreleased\n", "## Unreleased\n\n### Added\n- b\n\n### Fixed\n- c\n\n" + first,
		"## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n### Fixed\n- c\n\n" + first,
	} {
		require.Empty(t, changelogFaults(text, ""), text)
	}
	require.Empty(t, changelogFaults("## Unreleased\n\n"+first, named))
	for text, want := range map[string]string{
		"## Unreleased\n":                                  "has no section",
		first:                                              "not in its place",
		first + "\n## Unreleased\n":                        "not in its place",
		"## Unreleased\n- b\n\n" + first:                   "is of no kind",
		"## Unreleased\n\n### Added\n\n" + first:           "is empty",
		"## Unreleased\n\n### New\n- b\n\n" + first:        "no kind of change",
		"## Unreleased\n\n" + first + "\n### Added\n- b\n": "not in its place",
		"## Unreleased\n\n## v0.1.0\n\n### Added\n- a\n":   "neither",
		"## Unreleased\n\n" + first + "\n### Fixed\n- b\n": "can have Added alone",
		"## Unreleased\n\n" + first + "\n## 0.0.1 - 2026-12-01\n\n### Added\n- b\n": "above an older one",
	} {
		require.Contains(t, strings.Join(changelogFaults(text, named), "\n"), want, text)
	}
}
