package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/report"
)

const root = "../.."

// pageOf is a page: its text, its generated sections, and the sentences that it must
// contain.
type pageOf struct {
	text     string
	sections func(*benchmark, published) []report.Section
	claims   func(*benchmark, published) []string
}

func pagesOf(t *testing.T) map[string]pageOf {
	t.Helper()
	return map[string]pageOf{
		pageFile:  {textOf(t, pageFile), sections, claims},
		scaleFile: {textOf(t, scaleFile), scaleSections, scaleClaims},
	}
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return string(text)
}

// differences returns the sections and sentences of a page that differ from the
// results.
func (g pageOf) differences(t *testing.T, b *benchmark, p published) (found []string) {
	t.Helper()
	again, err := report.Filled(g.text, g.sections(b, p)...)
	require.NoError(t, err)
	if again != g.text {
		found = append(found, "the tables are others: go run ./loadtest/capacity doc")
	}
	said := strings.Join(strings.Fields(g.text), " ")
	for _, claim := range g.claims(b, p) {
		if !strings.Contains(said, claim) {
			found = append(found, claim)
		}
	}
	return found
}

// TestThePageSaysWhatWasMeasured: docs/capacity.md and docs/scale.md have the figures of
// the published results, and no others.
func TestThePageSaysWhatWasMeasured(t *testing.T) {
	t.Parallel()
	b, p, err := read(root)
	require.NoError(t, err)
	require.Len(t, p.Rows, rowsAll)
	for file, g := range pagesOf(t) {
		require.Empty(t, g.differences(t, b, p), file)
		require.NotContains(t, strings.Join(g.claims(b, p), " ")+g.text, "NaN", "a figure is missing from the results")
	}
}

// TestAPageOfOtherResultsIsFound: a figure that differs is found, whether the results or
// the page were changed.
func TestAPageOfOtherResultsIsFound(t *testing.T) {
	t.Parallel()
	for file, g := range pagesOf(t) {
		b, p, err := read(root)
		require.NoError(t, err)
		said := strings.Join(strings.Fields(g.text), " ")
		for _, claim := range g.claims(b, p) {
			last := strings.LastIndexAny(claim, "0123456789")
			require.Positive(t, last, claim)
			require.Contains(t, said, claim)
			other := claim[:last] + string('0'+('9'-claim[last])) + claim[last+1:]
			wrong := strings.ReplaceAll(said, claim, other)
			missing := 0
			for _, claim := range g.claims(b, p) {
				if !strings.Contains(wrong, claim) {
					missing++
				}
			}
			require.Equal(t, 1, missing, claim)
		}
		p.Rows[0].All *= 2
		require.NotEmpty(t, g.differences(t, b, p), file)
		_, p, err = read(root)
		require.NoError(t, err)
		for i := range b.Candidates {
			for metric, figure := range b.Candidates[i].Middle {
				figure.Median *= 2
				b.Candidates[i].Middle[metric] = figure
			}
		}
		require.Greater(t, len(g.differences(t, b, p)), 2, file)
	}
}

// TestScaleUsesTheRulesOfCapacity: the arithmetic of docs/scale.md begins with the
// figures of docs/capacity.md for an instance and for a core.
func TestScaleUsesTheRulesOfCapacity(t *testing.T) {
	t.Parallel()
	said := strings.Join(strings.Fields(textOf(t, pageFile)), " ")
	for _, rule := range []string{
		fmt.Sprintf("**%s draws/s for each core of the service, and as much for each core of the database.**", grouped(perCoreHot)),
		fmt.Sprintf("use %s for both", grouped(perCoreMany)),
		fmt.Sprintf("Give a container %d MiB", instanceMiB),
		fmt.Sprintf("| **together** | **%d** |", instanceConnections),
	} {
		require.Contains(t, said, rule)
	}
	require.Equal(t, []string{"167,000", "20,800", "0.064", "9.9", "100", "NaN"}, []string{
		grouped(digits(minute().rate(), 3)), grouped(digits(evening().rate(), 3)), few(0.0641), few(9.94), few(99.6), few(math.NaN()),
	})
}
