package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

type judgement func(m measure, awards []int64, values []float64) (says string, holds bool)

// misjudged returns the cases that a judgement of growth gets wrong.
func misjudged(judge judgement) (wrong []string) {
	flat, linear := measure{"flat", false, 10}, measure{"linear", true, 10}
	for _, c := range []struct {
		name   string
		of     measure
		values []float64
		says   string
		holds  bool
	}{
		{"level", flat, []float64{50, 55, 60}, "does not grow", true},
		{"noise below what is enough", flat, []float64{0.1, 0.5, 9}, "does not grow", true},
		{"linear, promised level", flat, []float64{5, 50, 500}, "grows at most linearly", false},
		{"linear at last, behind a fixed cost", flat, []float64{20, 22, 120}, "grows at most linearly", false},
		{"linear", linear, []float64{5, 50, 500}, "grows at most linearly", true},
		{"quadratic", linear, []float64{1, 100, 10_000}, "grows faster than linearly", false},
		{"quadratic at last", linear, []float64{100, 101, 1700}, "grows faster than linearly", false},
		{"quadratic from almost nothing", linear, []float64{0, 0.1, 100}, "grows faster than linearly", false},
		{"one size", flat, []float64{5}, "–", true},
	} {
		says, holds := judge(c.of, []int64{10, 100, 1000}[:len(c.values)], c.values)
		if says != c.says || holds != c.holds {
			wrong = append(wrong, c.name)
		}
	}
	return wrong
}

// TestGrowthIsJudged: each kind of growth is distinguished from the next. Broken doubles
// judge by the first size, ignore the promise, or call everything noise.
func TestGrowthIsJudged(t *testing.T) {
	t.Parallel()
	require.Empty(t, misjudged(measure.judge))
	for name, double := range map[string]judgement{
		"by the first size": func(m measure, awards []int64, values []float64) (string, bool) {
			return m.judge([]int64{awards[0], awards[len(awards)-1]}[:min(2, len(awards))], []float64{values[0], values[len(values)-1]}[:min(2, len(values))])
		},
		"whatever is promised": func(m measure, awards []int64, values []float64) (string, bool) {
			m.linear = true
			return m.judge(awards, values)
		},
		"noise is everything": func(m measure, awards []int64, values []float64) (string, bool) {
			m.enough *= 100
			return m.judge(awards, values)
		},
	} {
		require.NotEmpty(t, misjudged(double), name)
	}
}

// TestDiskIsBounded: a run that needs more than is free does not begin, and one that used
// more than it demanded fails.
func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkDisk(1, io.Discard))
	require.ErrorContains(t, checkDisk(1<<60, io.Discard), "use fewer --awards")
	for _, kind := range []string{"postgres", "mysql"} {
		require.Greater(t, needed(kind, 2_000_000), needed(kind, 1_000_000))
	}
	r := results{Peak: 4, Bound: 5}
	require.NoError(t, r.verdict())
	r.Peak = 6
	require.ErrorContains(t, r.verdict(), "6.0 GB of disk were used")
	folder := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), make([]byte, 100), 0o600))
	}
	n, _, err := harness.SizeOf(folder, filepath.Join(folder, "missing"))
	require.NoError(t, err)
	require.EqualValues(t, 200, n)
}

// TestRoundIsJudged: the judge finds an acknowledged award without a row, a unit that is
// issued twice, a missing version, and a row that nobody requested.
func TestRoundIsJudged(t *testing.T) {
	t.Parallel()
	judge := func(change func(rows []history.AwardRow) []history.AwardRow) (rules []string) {
		rows := []history.AwardRow{
			{Version: 8, Draw: "k1", Ordinal: 1, User: "u", Prize: "a", Unit: 1}, {Version: 9, Draw: "k1", Ordinal: 2, User: "u", Prize: "b", Unit: 1},
			{Version: 10, Draw: "k2", Ordinal: 1, User: "u", Prize: "a", Unit: 2},
		}
		ops := []history.Op{
			{Kind: history.Draw, Pool: large, Key: "k1", User: "u", Count: 2, Status: 200, Awards: []history.Award{{Prize: "a", Unit: 1, Version: 8}, {Prize: "b", Unit: 1, Version: 9}}},
			{Kind: history.Draw, Pool: large, Key: "k2", User: "u", Count: 1, Status: 200, Awards: []history.Award{{Prize: "a", Unit: 2, Version: 10}}},
		}
		var v history.Verdict
		judgeRound(&v, ops, history.Rows{Pool: large, Awards: change(rows)}, history.Terms{Deadline: time.Second})
		for _, found := range v.Violations {
			rules = append(rules, found.Rule)
		}
		return rules
	}
	same := func(rows []history.AwardRow) []history.AwardRow { return rows }
	require.Empty(t, judge(same))
	require.Contains(t, judge(func(rows []history.AwardRow) []history.AwardRow { return rows[:2] }), history.AcknowledgedLost)
	require.Contains(t, judge(func(rows []history.AwardRow) []history.AwardRow { rows[2].Unit = 1; return rows }), history.UnitTwice)
	require.Contains(t, judge(func(rows []history.AwardRow) []history.AwardRow { rows[2].Version = 11; return rows }), history.Versions)
	require.Contains(t, judge(func(rows []history.AwardRow) []history.AwardRow {
		return append(rows, history.AwardRow{Version: 11, Draw: "k3", Ordinal: 1, User: "u", Prize: "a", Unit: 3})
	}), history.Unasked)
}

// TestThePageSaysWhatWasMeasured: the page has the published results, with a figure of
// each measure at each size.
func TestThePageSaysWhatWasMeasured(t *testing.T) {
	t.Parallel()
	const root = "../.."
	all, err := report.Read[[]results](filepath.Join(root, folder, "published.json"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, pageFile))
	require.NoError(t, err)
	filled, err := report.Filled(string(text), section(all))
	require.NoError(t, err)
	require.Equal(t, filled, string(text), "go run ./loadtest/growth doc")
	for _, r := range all {
		for _, m := range measures() {
			require.Len(t, r.Values[m.name], len(r.Awards), m.name)
		}
	}
}
