package house

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// untaggedBuilds returns the lines of a file that build the program without the tag
// nomsgpack. If a file sets GOFLAGS to the tag, all its lines count as tagged.
func untaggedBuilds(text string) (found []string) {
	if regexp.MustCompile(`(?m)^\s*(?:export )?GOFLAGS\b.*-tags=nomsgpack`).MatchString(text) {
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if regexp.MustCompile(`\bgo build\b.*\./cmd/drawsvc`).MatchString(line) && !strings.Contains(line, "-tags=nomsgpack") {
			found = append(found, line)
		}
	}
	return found
}

// TestBuildsLeaveMessagePackOut: every documented and shipped way to build the program
// has the tag. Without the tag, gin makes the program an eighth larger, by code that is
// never called here.
func TestBuildsLeaveMessagePackOut(t *testing.T) {
	for _, name := range append(pages(t), "Makefile", ".ko.yaml", "deploy/packages/build", "deploy/packages/release", "deploy/image/Dockerfile") {
		require.Empty(t, untaggedBuilds(read(t, name)), name)
	}
	require.Contains(t, read(t, ".ko.yaml"), "-tags=nomsgpack")
	require.NotEmpty(t, untaggedBuilds("x\ngo build -trimpath ./cmd/drawsvc && ./drawsvc"), "the double")
	require.Empty(t, untaggedBuilds("export GOFLAGS=-tags=nomsgpack GOOS=linux\ngo build -o x ./cmd/drawsvc"))
}
