package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/harness"
)

type published struct {
	Seed uint64 `json:"seed"`
	harness.Stand
	Cells []result `json:"cells"`
}

func publish(s settings, out io.Writer, results []result, took time.Duration) error {
	verdict := judge(results)
	p := published{s.seed, harness.NewStand(s.Quick, took, verdict), results}
	if s.merge {
		if err := p.mergeInto(filepath.Join(s.Results, "faults.json")); err != nil {
			return err
		}
	}
	if err := harness.Write(s.Results, "faults", p, p.markdown()); err != nil {
		return err
	}
	for i := range results {
		if results[i].skipped() {
			harness.Say(out, "SKIPPED %s: %s\n", results[i].Name, results[i].Skipped)
		}
	}
	harness.Say(out, "\n%d runs in %v, SEED=%d, results in %s\n", len(results), took.Round(time.Second), s.seed, s.Results)
	return verdict
}

// mergeInto puts the cells in the place of those of the same name in the file,
// or behind them all.
func (p *published) mergeInto(file string) error {
	before, err := readPublished(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	again := map[string][]result{}
	for _, r := range p.Cells {
		again[r.Name] = append(again[r.Name], r)
	}
	var all []result
	for _, r := range before.Cells {
		now, ran := again[r.Name]
		if !ran {
			now = []result{r}
		}
		all = append(all, now...) // none, when they were put in the place of the run before
		if ran {
			again[r.Name] = nil
		}
	}
	for _, r := range p.Cells {
		if again[r.Name] != nil {
			all = append(all, r)
		}
	}
	p.Seconds += before.Seconds
	p.Cells, p.Passed = all, judge(all) == nil
	return nil
}

func readPublished(file string) (published, error) { return harness.Read[published](file) }

// judge is nil when every cell showed what it had to.
func judge(results []result) error {
	return harness.Verdict("runs", results, func(r *result) bool { return !r.Passed && !r.skipped() })
}

type row struct {
	result
	runs   int
	failed int
}

// rows adds up the runs of each cell, in order.
func (p *published) rows() []row {
	var all []row
	at := map[string]int{}
	for _, r := range p.Cells {
		n, known := at[r.Name]
		if !known {
			n = len(all)
			at[r.Name] = n
			all = append(all, row{result: r})
			all[n].Answers = map[string]int{}
			all[n].Draws, all[n].Unknown, all[n].Settled = 0, 0, 0
		}
		sum := &all[n]
		sum.runs++
		sum.Draws += r.Draws
		sum.Unknown += r.Unknown
		sum.Settled += r.Settled
		sum.Recovery = max(sum.Recovery, r.Recovery)
		for kind, k := range r.Answers {
			sum.Answers[kind] += k
		}
		if !r.Passed && !r.skipped() {
			sum.failed++
			sum.result.Passed = false
		}
	}
	return all
}

func (p *published) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Faults\n\n%s: %s\n\n", p.At, p.summary())
	b.WriteString("No. is the fault's number in the list of faults that the service must survive. Recovery is the time from the fault's end " +
		"until the slowest instance draws again.\n\n")
	heads := []string{"no.", "fault", "database", "mode", "instances", "runs", "draws", "answers", "unknown", "settled", "recovery ms", "verdict"}
	b.WriteString(harness.Table(heads))
	for _, r := range p.rows() {
		b.WriteString(harness.TableRow(r.columns()...))
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		for _, broken := range c.Broken {
			if !c.Passed {
				fmt.Fprintf(&b, "\n- %s, seed %d: %s", c.Name, c.Seed, strings.ReplaceAll(broken, "\n", " "))
			}
		}
	}
	return b.String()
}

func (p *published) summary() string {
	failed, skipped, late := 0, 0, 0
	for i := range p.Cells {
		switch r := &p.Cells[i]; {
		case r.skipped():
			skipped++
		case !r.Passed:
			failed++
		case r.Late > 0:
			late++
		}
	}
	return fmt.Sprintf("%d runs in %.0f minutes on %d cores that clients, services and servers share, %s, seed %d. "+
		"%d failed, %d were skipped, %d held only when run again because they had been late.",
		len(p.Cells), p.Seconds/60, p.CPUs, p.Go, p.Seed, failed, skipped, late)
}

func (r *row) columns() []string {
	mode, number, recovery := r.Mode, "–", "–"
	if r.Lock != "" {
		mode += " " + r.Lock + ":"
	}
	if r.Number > 0 {
		number = fmt.Sprint(r.Number)
	}
	if r.Recovery >= 0 {
		recovery = fmt.Sprintf("%.0f", r.Recovery)
	}
	var answers []string
	for _, kind := range slices.Sorted(maps.Keys(r.Answers)) {
		answers = append(answers, fmt.Sprintf("%s %d", kind, r.Answers[kind]))
	}
	verdict := r.verdict()
	if r.failed > 0 && r.runs > 1 {
		verdict = fmt.Sprintf("FAILED %d of %d", r.failed, r.runs)
	}
	fault := r.Fault
	if r.Condemned {
		fault += " (control: " + cmp.Or(r.Flaw, r.Program) + ")"
	}
	return []string{number, fault, r.Database, mode, fmt.Sprint(r.Instances), fmt.Sprint(r.runs), fmt.Sprint(r.Draws),
		strings.Join(answers, ", "), fmt.Sprint(r.Unknown), fmt.Sprint(r.Settled), recovery, verdict}
}
