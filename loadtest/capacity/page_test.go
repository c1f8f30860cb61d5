package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/report"
)

const root = "../.."

// differences are the sections and the sentences of a page that are not those of the
// results.
func differences(t *testing.T, text string, b *benchmark, p published) (found []string) {
	t.Helper()
	again, err := report.Filled(text, sections(b, p)...)
	require.NoError(t, err)
	if again != text {
		found = append(found, "the tables are others: go run ./loadtest/capacity doc")
	}
	said := strings.Join(strings.Fields(text), " ")
	for _, claim := range claims(b, p) {
		if !strings.Contains(said, claim) {
			found = append(found, claim)
		}
	}
	return found
}

// TestThePageSaysWhatWasMeasured: docs/capacity.md has the figures of the published
// results, and no others.
func TestThePageSaysWhatWasMeasured(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, pageFile))
	require.NoError(t, err)
	b, p, err := read(root)
	require.NoError(t, err)
	require.Len(t, p.Rows, rowsAll)
	require.Empty(t, differences(t, string(text), b, p))
	require.NotContains(t, strings.Join(claims(b, p), " ")+b.cpu()+p.disk(), "NaN", "a figure is missing from the results")
}

// TestAPageOfOtherResultsIsFound: each figure that is another, in the results or on
// the page.
func TestAPageOfOtherResultsIsFound(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, pageFile))
	require.NoError(t, err)
	b, p, err := read(root)
	require.NoError(t, err)
	for _, claim := range claims(b, p) {
		last := strings.LastIndexAny(claim, "0123456789")
		require.Positive(t, last, claim)
		other := claim[:last] + string('0'+('9'-claim[last])) + claim[last+1:]
		said := strings.Join(strings.Fields(string(text)), " ")
		require.Contains(t, said, claim)
		wrong := strings.ReplaceAll(said, claim, other)
		missing := 0
		for _, claim := range claims(b, p) {
			if !strings.Contains(wrong, claim) {
				missing++
			}
		}
		require.Equal(t, 1, missing, claim)
	}
	p.Rows[0].Table *= 2
	require.NotEmpty(t, differences(t, string(text), b, p))
	_, p, err = read(root)
	require.NoError(t, err)
	for i := range b.Candidates {
		for metric, figure := range b.Candidates[i].Middle {
			figure.Median *= 2
			b.Candidates[i].Middle[metric] = figure
		}
	}
	require.Greater(t, len(differences(t, string(text), b, p)), 5)
}
