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
	"drawsvc/internal/page"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// reliability is where the results are shown, between marks such as
// <!-- faults:begin --> and <!-- faults:end -->.
const reliability = "docs/reliability.md"

// writePage makes the table of the published results, and puts their sums into
// the page.
func writePage(_ context.Context, s settings, _ io.Writer) error {
	p, err := readPublished(filepath.Join(s.Results, "faults.json"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Results, "faults.md"), []byte(p.markdown()), 0o644); err != nil {
		return err
	}
	text, err := os.ReadFile(reliability)
	if err != nil {
		return err
	}
	filled, err := fillPage(string(text), s.Results)
	if err != nil {
		return fmt.Errorf("%s: %w", reliability, err)
	}
	return os.WriteFile(reliability, []byte(filled), 0o644)
}

func fillPage(text, results string) (string, error) {
	p, err := readPublished(filepath.Join(results, "faults.json"))
	if err != nil {
		return "", err
	}
	soaks, err := readSoaks(filepath.Join(results, "soak.json"))
	if err != nil {
		return "", err
	}
	for _, section := range []struct{ name, text string }{
		{"controls", p.controlTable()}, {"faults", p.table()}, {"jobs", p.jobTable()}, {"soak", soakTables(soaks)},
	} {
		if text, err = page.Filled(text, section.name, section.text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// controlTable shows what the broken programs were condemned for.
func (p *published) controlTable() string {
	var b strings.Builder
	b.WriteString(harness.Table([]string{"program", "under", "database", "condemned for", "verdict"}))
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
		b.WriteString(harness.TableRow(r.controlName(), r.Fault, r.Database, strings.Join(slices.Sorted(maps.Keys(rules)), ", "), r.verdict()))
	}
	return b.String()
}

// controlName says what is wrong with a program.
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
	return "the service, its write without the check of the version"
}

type summed struct {
	number, runs, held, skipped, draws, unknown, settled int
	fault, database                                      string
	recovery                                             float64
	modes                                                []string
}

// table shows each fault on each database, all modes added up.
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
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.summary())
	b.WriteString(harness.Table([]string{"no.", "fault", "database", "modes", "runs", "draws", "unknown, settled", "slowest recovery", "held"}))
	for _, key := range order {
		b.WriteString(harness.TableRow(all[key].columns()...))
	}
	return b.String()
}

// rank puts faults that have no number behind those that have one.
func (s *summed) rank() int {
	if s.number == 0 {
		return math.MaxInt
	}
	return s.number
}

func (s *summed) add(r *result) {
	mode := r.Mode
	if r.Lock != "" {
		mode += " `" + r.Lock + ":`"
	}
	if !slices.Contains(s.modes, mode) {
		s.modes = append(s.modes, mode)
	}
	s.runs++
	switch {
	case r.skipped():
		s.skipped++
	case r.Passed:
		s.held++
	}
	s.draws += r.Draws
	s.unknown += r.Unknown
	s.settled += r.Settled
	s.recovery = max(s.recovery, r.Recovery)
}

func (s *summed) columns() []string {
	number, recovery, held := "–", "–", fmt.Sprintf("%d of %d", s.held, s.runs)
	if s.number > 0 {
		number = fmt.Sprint(s.number)
	}
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
	return []string{number, s.fault, s.database, modes, fmt.Sprint(s.runs), fmt.Sprint(s.draws),
		fmt.Sprintf("%d, %d", s.unknown, s.settled), recovery, held}
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
	b.WriteString(harness.Table([]string{"ended", "seed", "minutes", "rounds", "draws", "faults", "unknown, settled", "worst recovery", "rules broken"}))
	for _, s := range all {
		faults := 0
		for _, n := range s.Faults {
			faults += n
		}
		b.WriteString(harness.TableRow(s.At, fmt.Sprint(s.Seed), fmt.Sprintf("%.0f", s.Seconds/60), fmt.Sprint(s.Rounds), fmt.Sprint(s.Draws),
			fmt.Sprint(faults), fmt.Sprintf("%d, %d", s.Unknown, s.Settled), fmt.Sprintf("%.0f ms", s.Worst), fmt.Sprint(len(s.Broken))))
	}
	for _, part := range []struct {
		head   string
		counts map[string]int
	}{{"fault", whole.Faults}, {"answer", whole.Answers}, {"rounds at", whole.Places}} {
		b.WriteString("\n" + harness.Table([]string{part.head, "times"}))
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			b.WriteString(harness.TableRow(strings.TrimPrefix(name, "soak "), fmt.Sprint(part.counts[name])))
		}
	}
	for _, broken := range whole.Broken {
		fmt.Fprintf(&b, "\n- %s\n", strings.ReplaceAll(broken, "\n", " "))
	}
	return b.String()
}
