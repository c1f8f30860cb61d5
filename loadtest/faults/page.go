package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/report"
)

// reliability is the page that shows the results, between marks such as <!--
// faults:begin --> and <!-- faults:end -->.
const reliability = "docs/reliability.md"

// writePage creates the table of the published results, and puts their sums into the
// page.
func writePage(_ context.Context, s settings, _ io.Writer) error {
	p, err := report.Read[published](filepath.Join(s.Results, "faults.json"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Results, "faults.md"), []byte(p.markdown()), 0o644); err != nil {
		return err
	}
	soaks, err := readSoaks(filepath.Join(s.Results, "soak.json"))
	if err != nil {
		return err
	}
	return report.Fill(reliability, p.sections(soaks)...)
}

// sections returns the sections of the page.
func (p *published) sections(soaks []*soaked) []report.Section {
	return []report.Section{
		{Name: "controls", Text: p.controlTable()}, {Name: "faults", Text: p.table()}, {Name: "jobs", Text: p.jobTable()}, {Name: "floods", Text: p.floodTable()}, {Name: "soak", Text: soakTables(soaks)},
	}
}

// controlTable shows the rules that the broken programs broke.
func (p *published) controlTable() string {
	t := report.NewTable("program | under | database | broken rules | verdict")
	for i := range p.Cells {
		r := &p.Cells[i]
		if !r.Condemned {
			continue
		}
		rules := map[string]bool{}
		for _, broken := range r.Broken {
			rule, _, _ := strings.Cut(broken, ":")
			rules[rule] = true
		}
		t.Add(r.controlName(), r.Fault, r.Database, strings.Join(slices.Sorted(maps.Keys(rules)), ", "), r.verdict())
	}
	return t.String()
}

// controlName describes what is wrong with a program.
func (r *result) controlName() string {
	if r.Flaw != "" {
		return r.Flaw
	}
	if d, ok := history.DoubleOf(r.Program); ok {
		return d.Flaw
	}
	if r.Program == stage.Textbook {
		return "textbook program that over-issues"
	}
	return "the service, without the check of the version in its write"
}

type summed struct {
	number, runs, held, skipped, draws, unknown, settled int
	fault, database                                      string
	recovery                                             float64
	modes                                                []string
}

// table shows each fault on each database, summed over all modes.
func (p *published) table() string {
	var order []string
	all := map[string]*summed{}
	for i := range p.Cells {
		r := &p.Cells[i]
		if r.Condemned {
			continue
		}
		key := r.Fault + "\x00" + r.Database
		if all[key] == nil {
			order = append(order, key)
			all[key] = &summed{number: r.Number, fault: r.Fault, database: r.Database, recovery: -1}
		}
		all[key].add(r)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(all[a].rank(), all[b].rank()) })
	t := report.NewTable("no. | fault | database | modes | runs | draws | unknown, settled | slowest recovery | held")
	for _, key := range order {
		all[key].addTo(t)
	}
	return p.summary() + "\n\n" + t.String()
}

// rank is the order of a fault: faults with a number come before faults without.
func (s *summed) rank() int {
	if s.number == 0 {
		return math.MaxInt
	}
	return s.number
}

func (s *summed) add(r *result) {
	if mode := r.modeIn(" `%s:`"); !slices.Contains(s.modes, mode) {
		s.modes = append(s.modes, mode)
	}
	s.runs++
	switch {
	case r.IsSkipped():
		s.skipped++
	case r.Passed:
		s.held++
	}
	s.draws += r.Draws
	s.unknown += r.Unknown
	s.settled += r.Settled
	s.recovery = max(s.recovery, r.Recovery)
}

func (s *summed) addTo(t *report.Table) {
	recovery, held := report.Dash(""), fmt.Sprintf("%d of %d", s.held, s.runs)
	if s.recovery >= 0 {
		recovery = fmt.Sprintf("%.0f ms", s.recovery)
	}
	switch {
	case s.skipped > 0:
		held += fmt.Sprintf(", **%d SKIPPED**", s.skipped)
	case s.held < s.runs:
		held += ", **FAILED**"
	}
	modes := strings.Join(s.modes, ", ")
	if len(s.modes) == len(lockmode.Names()) && !strings.Contains(strings.ReplaceAll(modes, "`table:`", ""), "`") {
		modes = "all"
	}
	t.Add(report.Positive("%d", s.number), s.fault, s.database, modes, s.runs, s.draws, fmt.Sprintf("%d, %d", s.unknown, s.settled), recovery, held)
}

// soakTables show the soaks one by one, and then all of them by fault and by
// answer.
func soakTables(all []*soaked) string {
	if len(all) == 0 {
		return "No soak has been published.\n"
	}
	whole := sum(all)
	recoveries, median := whole.median()
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f minutes in %d soaks: %d draws, %d unknown outcomes of which %d were settled, %d recoveries, "+
		"half of them within %d ms, the worst after %.0f ms.\n\n",
		whole.Seconds/60, len(all), whole.Draws, whole.Unknown, whole.Settled, recoveries, median, whole.Worst)
	t := report.NewTable("ended | seed | minutes | rounds | draws | faults | unknown, settled | worst recovery | rules broken")
	for _, s := range all {
		t.Add(s.At, s.Seed, fmt.Sprintf("%.0f", s.Seconds/60), s.Rounds, s.Draws, s.faults(), fmt.Sprintf("%d, %d", s.Unknown, s.Settled),
			fmt.Sprintf("%.0f ms", s.Worst), len(s.Broken))
	}
	b.WriteString(t.String())
	for _, part := range []struct {
		head   string
		counts map[string]int
	}{{"fault", whole.Faults}, {"answer", whole.Answers}, {"rounds at", whole.Places}} {
		t := report.NewTable(part.head + " | times")
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			t.Add(strings.TrimPrefix(name, "soak "), part.counts[name])
		}
		b.WriteString("\n" + t.String())
	}
	for _, broken := range whole.Broken {
		b.WriteString(report.List(broken) + "\n")
	}
	return b.String()
}

const jobFault = "job: "

// jobTable shows each fault of jobs by kind and database, a column for each lock.
func (p *published) jobTable() string {
	type place struct{ kind, fault, database string }
	var places []place
	var locks []string
	runs, held := map[string]int{}, map[string]int{}
	for i := range p.Cells {
		r := &p.Cells[i]
		fault, is := strings.CutPrefix(r.Fault, jobFault)
		if !is || r.Condemned || r.Skipped != "" {
			continue
		}
		if !slices.Contains(locks, r.Lock) {
			locks = append(locks, r.Lock)
		}
		kinds := r.Jobs
		if kinds == nil {
			kinds = []string{"catalogue"} // older results name no job, because only this one was tried
		}
		for _, kind := range kinds {
			at := place{kind, fault, fmt.Sprintf("%s ×%d", r.Database, r.Instances)}
			if !slices.Contains(places, at) {
				places = append(places, at)
			}
			key := fmt.Sprint(at, r.Lock)
			runs[key]++
			if r.Passed {
				held[key]++
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.kind, b.kind) })
	heads := "job | fault | database"
	for _, lock := range locks {
		heads += " | `" + lock + ":`"
	}
	t := report.NewTable(heads)
	for _, at := range places {
		row := []any{"`" + at.kind + "`", at.fault, at.database}
		for _, lock := range locks {
			key := fmt.Sprint(at, lock)
			cell := report.Dash("")
			if runs[key] > 0 {
				cell = fmt.Sprintf("%d of %d", held[key], runs[key])
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t.String()
}
