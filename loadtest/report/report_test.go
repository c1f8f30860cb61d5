package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/report"
)

func TestCeilingIsRound(t *testing.T) {
	for value, want := range map[float64]float64{0: 1, 0.7: 0.8, 1: 1, 3: 4, 35000: 40000, 81: 100} {
		assert.InDelta(t, want, report.Ceiling(value), 1e-9, "%v", value)
	}
}

// TestVerdictCountsWhatFailed: a run without any result fails.
func TestVerdictCountsWhatFailed(t *testing.T) {
	t.Parallel()
	ok, bad, skipped := report.Outcome{Passed: true}, report.Outcome{}, report.Outcome{Skipped: "no server"}
	require.NoError(t, report.Verdict("cells", []report.Outcome{ok, skipped}))
	require.EqualError(t, report.Verdict("cells", []report.Outcome{ok, bad}), "1 of 2 cells failed")
	require.Error(t, report.Verdict("cells", []report.Outcome(nil)))
}

func TestTableIsMarkdownAndTerminal(t *testing.T) {
	t.Parallel()
	table := report.NewTable("a | b")
	table.Add("x", 12)
	require.Equal(t, "| a | b |\n|---|---|\n| x | 12 |\n", table.String())
	var out strings.Builder
	table.Print(&out)
	require.Equal(t, "a  b\nx  12\n", out.String())
}
