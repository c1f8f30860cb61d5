package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// published is the file faults.json.
type published struct {
	At      string   `json:"at"`
	Seed    uint64   `json:"seed"`
	Quick   bool     `json:"quick"`
	CPUs    int      `json:"cpus"`
	Go      string   `json:"go"`
	Seconds float64  `json:"seconds"`
	Passed  bool     `json:"passed"`
	Cells   []result `json:"cells"`
}

// publish writes the results. Its error is the verdict of the whole.
func publish(s settings, out io.Writer, results []result, took time.Duration) error {
	verdict := judge(results)
	p := published{
		At: time.Now().UTC().Format(time.RFC3339), Seed: s.seed, Quick: s.quick, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Seconds: took.Round(time.Second).Seconds(), Passed: verdict == nil, Cells: results,
	}
	if err := os.MkdirAll(s.results, 0o755); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(s.results, "faults.json"), p); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.results, "faults.md"), []byte(p.markdown()), 0o644); err != nil {
		return err
	}
	say(out, "\n%d runs in %v, SEED=%d, results in %s\n", len(results), took.Round(time.Second), s.seed, s.results)
	return verdict
}

// judge is nil when every cell showed what it had to.
func judge(results []result) error {
	bad := 0
	for i := range results {
		if !results[i].Passed && !results[i].skipped() {
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d runs failed", bad, len(results))
	}
	if len(results) == 0 {
		return errors.New("no cell was run")
	}
	return nil
}

func writeJSON(file string, content any) error {
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// row is all runs of one fault on one database in one mode.
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
	fmt.Fprintf(&b, "# Faults\n\n%s: %d runs in %.0f s on %d cores that clients, service and databases share, %s. Seed %d.\n\n",
		p.At, len(p.Cells), p.Seconds, p.CPUs, p.Go, p.Seed)
	b.WriteString("No. is the fault's number in the list of faults that the service must survive. Recovery is the time from the fault's end " +
		"until the slowest instance draws again.\n\n")
	heads := []string{"no.", "fault", "database", "mode", "instances", "runs", "draws", "answers", "unknown", "settled", "recovery ms", "verdict"}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, r := range p.rows() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.columns(), " | "))
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		for _, broken := range c.Broken {
			if !c.Passed {
				fmt.Fprintf(&b, "\n- %s: %s", c.Name, strings.ReplaceAll(broken, "\n", " "))
			}
		}
	}
	return b.String()
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
		fault += " (control: " + r.Program + ")"
	}
	return []string{number, fault, r.Database, mode, fmt.Sprint(r.Instances), fmt.Sprint(r.runs), fmt.Sprint(r.Draws),
		strings.Join(answers, ", "), fmt.Sprint(r.Unknown), fmt.Sprint(r.Settled), recovery, verdict}
}
