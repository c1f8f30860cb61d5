package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/report"
)

// quickSettings returns the settings of a quick run.
func quickSettings(t *testing.T) settings {
	s, err := parse([]string{"--quick"}, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	return s
}

// runOf returns a quick run in which each metric of each candidate has a different
// value, some of them changed.
func runOf(t *testing.T, change map[figure]float64) document {
	s := quickSettings(t)
	b := &benchmark{settings: s, figures: make(map[candidate][]figures), faults: make(map[candidate]error)}
	list := chosen(s)
	b.candidates = candidatesOf(list)
	for n, c := range b.candidates {
		for round := range s.rounds {
			f := figures{perSecond: 1000 * float64(n+1), unitRate: 1000 * float64(n+1), serviceCPU: 20 + float64(n), p50: 5, p99: 3000 * float64(n+1), memory: 40}
			for m, value := range f {
				f[m] = value * (1 + 0.01*float64(round)) // the machine gets faster
				if times, ok := change[of(c, m)]; ok {
					f[m] *= times
				}
			}
			b.figures[c] = append(b.figures[c], f)
		}
	}
	return newDocument(b, list, disk{fileSystem: "ext4"})
}

// TestWorseRatiosFailTheRun: the gate fails runs with worse ratios, and names them.
func TestWorseRatiosFailTheRun(t *testing.T) {
	published := runOf(t, nil)
	require.NoError(t, runOf(t, nil).verdict(published), "the same run")

	list := chosen(quickSettings(t))
	for _, e := range list {
		worse := 0.79
		if e.most > 0 {
			worse = 1 / 0.79
		}
		lowered := runOf(t, map[figure]float64{e.over: worse})
		assert.Contains(t, lowered.fallen(published), e.name)
		assert.ErrorContains(t, lowered.verdict(published), e.name)

		slightly := 0.82
		if e.most > 0 {
			slightly = 1 / 0.82
		}
		assert.NotContains(t, runOf(t, map[figure]float64{e.over: slightly}).fallen(published), e.name)
		assert.NotContains(t, runOf(t, map[figure]float64{e.over: 1 / worse}).fallen(published), e.name, "better is no fall")
	}

	soldOut := list[slices.IndexFunc(list, func(e entry) bool { return e.name == "sold out ÷ no-op" })]
	err := runOf(t, map[figure]float64{soldOut.over: 0.5}).verdict(published)
	require.EqualError(t, err, "1 ratios have fallen by more than 20 %:\n  sold out ÷ no-op: 0.538, published 1.08")
}

// TestOneGoodRoundExcusesALowMedian: a median that fell does not count if one round was
// as good as the worst published one; without that round it does.
func TestOneGoodRoundExcusesALowMedian(t *testing.T) {
	was := judged{spread: spread{Median: 1, Low: 0.9, High: 1.1}, Least: 0.5}
	assert.False(t, judged{spread: spread{Median: 0.7, Low: 0.6, High: 0.91}}.worse(was))
	assert.True(t, judged{spread: spread{Median: 0.7, Low: 0.6, High: 0.89}}.worse(was))
	was.Least, was.Most = 0, 2
	assert.False(t, judged{spread: spread{Median: 1.4, Low: 1.09, High: 2}, Most: 2}.worse(was))
	assert.True(t, judged{spread: spread{Median: 1.4, Low: 1.2, High: 2}, Most: 2}.worse(was))
}

// TestSlowerMachineKeepsTheRatios: a machine at half speed has the same ratios.
func TestSlowerMachineKeepsTheRatios(t *testing.T) {
	half := make(map[figure]float64)
	for _, c := range candidatesOf(chosen(quickSettings(t))) {
		half[rate(c)], half[of(c, unitRate)], half[of(c, serviceCPU)] = 0.5, 0.5, 2
	}
	require.NoError(t, runOf(t, half).verdict(runOf(t, nil)))
}

// TestUnpublishedRatioFailsTheRun: a ratio fails the run if no published ratio exists to
// compare it with.
func TestUnpublishedRatioFailsTheRun(t *testing.T) {
	published := runOf(t, nil)
	const renamed = "PostgreSQL, for-update ÷ no-op"
	published.Entries[slices.IndexFunc(published.Entries, func(e judged) bool { return e.Name == renamed })].Name = "of another name"
	require.ErrorContains(t, runOf(t, nil).verdict(published), renamed)

}

// TestLimitsStandForUnpublishedRatios: an entry is compared with three quarters of its
// limit before it is published, with the published ratio afterwards, and with nothing
// if it has neither.
func TestLimitsStandForUnpublishedRatios(t *testing.T) {
	ratio := func(median float64) judged { return judged{spread: spread{Median: median, Low: median, High: median}} }
	list := []entry{{name: "least", limits: atLeast(0.9)}, {name: "most", limits: atMost(1.5)}, {name: "known", limits: atLeast(0.9)}, {name: "free"}}
	known := ratio(0.5)
	known.Name = "known"
	published := document{Entries: []judged{known}}
	published.addLimits(list)
	limit := published.byName()
	require.Len(t, published.Entries, 3)
	assert.False(t, ratio(0.55).worse(limit["least"]))
	assert.True(t, ratio(0.53).worse(limit["least"]))
	least, most := ratio(2.49), ratio(2.51)
	least.Most, most.Most = 1.5, 1.5
	assert.False(t, least.worse(limit["most"]))
	assert.True(t, most.worse(limit["most"]))
	assert.False(t, ratio(0.41).worse(limit["known"]))
	assert.Equal(t, []string{"free"}, document{Entries: []judged{{Name: "free"}, {Name: "most"}}}.unpublished(published))
}

func TestVerdictNamesFaults(t *testing.T) {
	d := runOf(t, nil)
	d.Candidates[1].Fault = "wrk got no answer"
	require.ErrorContains(t, d.verdict(runOf(t, nil)), d.Candidates[1].Name+": wrk got no answer")
}

func TestJudge(t *testing.T) {
	over, under := candidate{program: service}, candidate{program: "noop"}
	e := entry{name: "x", over: rate(over), under: rate(under), limits: atLeast(0.5)}
	values := func(list ...float64) (rounds []figures) {
		for _, v := range list {
			rounds = append(rounds, figures{perSecond: v})
		}
		return rounds
	}
	// The ratio is computed in each round, not from the medians.
	j := e.judge(map[candidate][]figures{over: values(10, 60, 20), under: values(10, 100, 50)})
	assert.Equal(t, []float64{1, 0.6, 0.4}, j.Rounds)
	assert.Equal(t, spread{0.6, 0.4, 1}, j.spread)
	assert.True(t, j.Reached)
	assert.False(t, e.judge(map[candidate][]figures{over: values(10), under: values(100)}).Reached)

	absent := e.judge(map[candidate][]figures{over: values(10)})
	assert.True(t, absent.Missing)
	assert.False(t, absent.Reached)

	e.under = constant(20)
	assert.Equal(t, []float64{0.5, 2}, e.judge(map[candidate][]figures{over: values(10, 40)}).Rounds)
}

// TestFirstTable: the first table has each database with each memory and both kinds of
// keys, time-ordered ones first, and divides by a no-op handler that gets such keys.
// Quick mode measures each database.
func TestFirstTable(t *testing.T) {
	s, err := parse(nil, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	var names []string
	guarded := map[string]bool{}
	for _, e := range entries(s) {
		if !e.main {
			continue
		}
		names = append(names, strings.TrimSuffix(e.name, " keys, 2 million awards ÷ no-op"))
		require.Equal(t, e.over.of.keys, e.under.of.keys, e.name)
		require.Equal(t, "noop", e.under.of.program)
		require.Positive(t, e.least)
		guarded[e.over.of.database] = guarded[e.over.of.database] || e.quick && e.over.of.keys == keysOrdered
	}
	kinds := []string{"PostgreSQL, default memory", "PostgreSQL, 512 MB", "MariaDB, default memory", "MariaDB, 512 MB", "SQLite"}
	var want []string
	for _, keys := range []string{"time-ordered", "random"} {
		for _, kind := range kinds {
			want = append(want, kind+", "+keys)
		}
	}
	require.Equal(t, want, names)
	require.Equal(t, map[string]bool{"postgres": true, "mysql": true, "sqlite": true}, guarded)
}

// TestGuardKnowsEveryRow: each row of the quick mode has a published ratio, or a limit
// until it has one.
func TestGuardKnowsEveryRow(t *testing.T) {
	published, err := report.Read[document]("results/published.json")
	require.NoError(t, err)
	list := chosen(quickSettings(t))
	published.addLimits(list)
	now := document{}
	for _, e := range list {
		now.Entries = append(now.Entries, judged{Name: e.name})
	}
	require.Empty(t, now.unpublished(published))
	require.Contains(t, published.byName()["PostgreSQL, 512 MB, random keys, 2 million awards ÷ no-op"].Over, "random keys")
}

// TestQuickNames: the entries of the quick mode have the same names in the full run.
func TestQuickNames(t *testing.T) {
	s, err := parse(nil, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	var names []string
	whole := append(entries(s), wonEntries(s)...)
	for _, e := range whole {
		assert.NotContains(t, names, e.name)
		names = append(names, e.name)
	}
	for _, e := range chosen(quickSettings(t)) {
		assert.Contains(t, names, e.name)
	}
	all := make(map[string]candidate)
	for _, c := range candidatesOf(whole) {
		assert.NotContains(t, all, c.name(), "two candidates of one name")
		all[c.name()] = c
		assert.NotEmpty(t, c.durable())
	}
}

func TestSettings(t *testing.T) {
	environment := map[string]string{"ROUNDS": "7", "SECONDS": "3", "ONLY": "SQLite", "POOLS": ""}
	lookUp := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	s, err := parse([]string{"--seconds", "4", "list"}, lookUp)
	require.NoError(t, err)
	assert.Equal(t, []string{"list"}, s.command)
	assert.Equal(t, 7, s.rounds)
	assert.Equal(t, 4, s.seconds, "the flag beats the environment")
	assert.Equal(t, 1000, s.pools)
	assert.Equal(t, "SQLite", s.only.String())
	assert.Contains(t, s.String(), "ROUNDS=7 SECONDS=4")
	assert.Equal(t, "go run ./loadtest/bench --rounds 7 --seconds 4 --only 'SQLite'", s.line())
	for _, args := range [][]string{{"--rounds", "0"}, {"--only", "("}, {"--nothing"}, {"--against", "abc", "--rounds", "5"}} {
		_, err := parse(args, lookUp)
		require.ErrorIs(t, err, errUsage, args)
	}
	delete(environment, "ROUNDS")
	beside, err := parse([]string{"--against", "abc"}, lookUp)
	require.NoError(t, err)
	assert.Equal(t, 12, beside.rounds)
	assert.Equal(t, "go run ./loadtest/bench --against abc --only 'SQLite'", beside.line())
	environment["ROUNDS"] = "many"
	_, err = parse(nil, lookUp)
	require.ErrorIs(t, err, errUsage)
	s.command = []string{"nothing"}
	require.ErrorIs(t, command(t.Context(), s, io.Discard), errUsage)
}

func TestSpread(t *testing.T) {
	assert.Equal(t, spread{2, 1, 9}, spreadOf([]float64{9, 1, 2}))
	assert.Equal(t, spread{1.5, 1, 2}, spreadOf([]float64{2, 1}))
}

// TestDocument: the written document can be read again, and the picture is XML.
func TestDocument(t *testing.T) {
	d, folder := runOf(t, nil), t.TempDir()
	d.Quick = false
	require.NoError(t, d.write(folder, "last"))
	performance := filepath.Join(folder, "docs", "performance.md")
	require.NoError(t, os.Mkdir(filepath.Dir(performance), 0o700))
	require.NoError(t, os.WriteFile(performance, []byte("<!-- bench:begin -->\n<!-- bench:end -->\n"+
		"<!-- bench-after-the-win:begin -->\n<!-- bench-after-the-win:end -->\n"), 0o600))
	require.NoError(t, publish(settings{results: folder, page: performance}, io.Discard))
	require.NoError(t, d.write(folder, "after-the-win"))
	require.NoError(t, publish(settings{results: folder, page: performance, won: true}, io.Discard))
	const main = "| PostgreSQL, default memory, time-ordered keys, 2 million awards | 2.00 | 2.00 to 2.00 | ≥ 0.68 | reached | 2.00 | 2.00 to 2.00 | 6.06 ms | 3.03 ms |\n"
	const other = "| PostgreSQL, for-update ÷ no-op | ≥ 0.65 | 1.20 | 1.20 to 1.20 | reached |\n"
	shown, err := os.ReadFile(performance)
	require.NoError(t, err)
	for _, text := range []string{main, other, "`go run ./loadtest/bench --quick`, ", "(A B C A B C …), 3 rounds of 2 s",
		"shared_buffers=128MB", "SQLite has one row", "](../published.svg)", "Raw: [published-after-the-win.json](../published-after-the-win.json)"} {
		assert.Contains(t, string(shown), text)
	}
	again, err := report.Read[document](settings{results: folder}.published())
	require.NoError(t, err)
	assert.Equal(t, d, again)
	assert.Contains(t, again.markdown(), main)
	assert.Contains(t, again.markdown(), other)
	assert.Contains(t, again.markdown(), "the draw (WAL, fsync at commit)")

	decoder := xml.NewDecoder(strings.NewReader(again.chart()))
	for err == nil {
		_, err = decoder.Token()
	}
	require.ErrorIs(t, err, io.EOF)

	d.Quick = true
	require.NoError(t, d.write(folder, "last"))
	require.Error(t, publish(settings{results: folder}, io.Discard), "a quick run is not published")
}

func TestTake(t *testing.T) {
	run, err := parseWrk([]byte(wrkPrinted))
	require.NoError(t, err)
	f, c := figures{}, candidate{program: service, database: "postgres", count: 10}
	f.take(c, run, reading{books: books{batches: 2, draws: 10, wal: 100}},
		reading{clocks{service: 900 * time.Millisecond}, books{batches: 5, draws: 100, wal: 9100}})
	assert.InDelta(t, 1800, f[perSecond], 1e-9, "900 good answers in half a second")
	assert.InDelta(t, 18000, f[unitRate], 1e-9)
	assert.InDelta(t, 1000, f[serviceCPU], 1e-9)
	assert.InDelta(t, 10, f[walBytes], 1e-9)
	assert.InDelta(t, 30, f[batchDraws], 1e-9)

	f, maria := figures{}, candidate{program: service, database: "mysql"}
	f.take(maria, run, reading{books: books{pages: 100}}, reading{books: books{pages: 18100}})
	assert.InDelta(t, 20, f[pageBytes], 1e-9)
	assert.NotContains(t, f, walBytes)

	require.NoError(t, believe(c, 10, run, books{}, books{issued: 9000}))
	require.Error(t, believe(c, 10, run, books{}, books{issued: 8990}), "an answer without its units")
	require.Error(t, believe(c, 10, run, books{}, books{issued: 9300}), "units without their answers")
	require.NoError(t, believe(c.whenSoldOut(), 10, run, books{issued: 10}, books{issued: 10}))
}
