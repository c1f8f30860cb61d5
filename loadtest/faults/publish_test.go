package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

const folder = "results"

// TestThePageShowsThePublishedResults: no cell of the page is written by hand.
func TestThePageShowsThePublishedResults(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../..", reliability))
	require.NoError(t, err)
	p, err := report.Read[published](filepath.Join(folder, "faults.json"))
	require.NoError(t, err)
	soaks, err := readSoaks(filepath.Join(folder, "soak.json"))
	require.NoError(t, err)
	filled, err := report.Filled(string(text), p.sections(soaks)...)
	require.NoError(t, err)
	require.Equal(t, filled, string(text), "go run ./loadtest/faults doc")
}

// TestTheTableShowsThePublishedResults: no row of the table of all cells is written by
// hand.
func TestTheTableShowsThePublishedResults(t *testing.T) {
	p, err := report.Read[published](filepath.Join(folder, "faults.json"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(folder, "faults.md"))
	require.NoError(t, err)
	require.Equal(t, p.markdown(), string(text))
}

// TestEveryNumberIsPublished: the table has all faults that the service must survive,
// and all programs that must fail.
func TestEveryNumberIsPublished(t *testing.T) {
	p, err := report.Read[published](filepath.Join(folder, "faults.json"))
	require.NoError(t, err)
	numbers := map[int]bool{4: true} // fault 4, another user with the same key, is part of fault 3
	condemned := 0
	for _, r := range p.Cells {
		numbers[r.Number] = true
		if r.Condemned {
			condemned++
		}
	}
	for n := 1; n <= 23; n++ {
		require.True(t, numbers[n], "the table has no fault with the number %d", n)
	}
	require.Len(t, experiments.Cells(harness.Selection{Only: regexp.MustCompile("^CONTROL")}), condemned)
}

func TestAPartTakesThePlaceOfItsCells(t *testing.T) {
	s := settings{merge: true, Selection: harness.Selection{Results: t.TempDir()}}
	cell := func(name string, seed uint64) result {
		return result{Outcome: report.Outcome{Name: name, Passed: true}, Seed: seed}
	}
	require.NoError(t, publish(s, io.Discard, []result{cell("a", 1), cell("a", 2), cell("b", 3)}, time.Minute))
	require.NoError(t, publish(s, io.Discard, []result{cell("a", 4), cell("a", 5), cell("a", 6), cell("c", 7)}, time.Minute))
	p, err := report.Read[published](filepath.Join(s.Results, "faults.json"))
	require.NoError(t, err)
	var seeds []uint64
	for _, r := range p.Cells {
		seeds = append(seeds, r.Seed)
	}
	require.Equal(t, []uint64{4, 5, 6, 3, 7}, seeds)
	require.InDelta(t, 120, p.Seconds, 0)
}

// TestVerdictsCanBeBad: a cell that failed, or a control that passed, makes the whole
// result fail.
func TestVerdictsCanBeBad(t *testing.T) {
	ok, bad, skipped := result{}, result{Condemned: true}, result{}
	ok.Passed, skipped.Skipped = true, "no server"
	require.NoError(t, report.Verdict("runs", []result{ok, skipped}))
	require.Error(t, report.Verdict("runs", []result{ok, bad}))
	require.Contains(t, bad.verdict(), "FAILED")
	require.Contains(t, skipped.verdict(), "SKIPPED")
}

// TestSoaksAddUp: the sum of two soaks has the counts of both.
func TestSoaksAddUp(t *testing.T) {
	s := settings{Selection: harness.Selection{Results: t.TempDir()}}
	for n := range 2 {
		one := newSoaked(uint64(n))
		one.Rounds, one.Draws, one.Seconds = 1, 100, 60
		one.Faults["link cut"] = 3
		one.Recoveries[10], one.Recoveries[1000], one.Worst = 2, 1, 995
		require.NoError(t, one.publish(s, io.Discard))
	}
	all, err := readSoaks(filepath.Join(s.Results, "soak.json"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	whole := sum(all)
	require.Equal(t, 200, whole.Draws)
	require.Equal(t, 6, whole.Faults["link cut"])
	recoveries, median := whole.median()
	require.Equal(t, 6, recoveries)
	require.Equal(t, 10, median)
	broken := newSoaked(3)
	broken.Rounds, broken.Broken = 1, []string{"acknowledged-lost"}
	require.Error(t, broken.publish(s, io.Discard))
}
