package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"drawsvc/internal/page"
)

// published is the file matrix.json.
type published struct {
	At      string   `json:"at"`
	Quick   bool     `json:"quick"`
	CPUs    int      `json:"cpus"`
	Go      string   `json:"go"`
	Seconds float64  `json:"seconds"`
	Passed  bool     `json:"passed"`
	Cells   []result `json:"cells"`
}

// publish writes the results and prints the table. Its error is the verdict of
// the whole matrix.
func publish(s settings, out io.Writer, results []result, took time.Duration) error {
	verdict := judge(results)
	p := published{
		At: time.Now().UTC().Format(time.RFC3339), Quick: s.quick, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Seconds: took.Round(time.Second).Seconds(), Passed: verdict == nil, Cells: results,
	}
	say(out, "\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	say(table, "%s\n", strings.Join(columns(), "\t"))
	for _, r := range results {
		say(table, "%s\n", strings.Join(r.columns(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := p.write(s.results, results); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	say(out, "\n%d cells in %v, results in %s\n", len(results), took.Round(time.Second), s.results)
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
		return fmt.Errorf("%d of %d cells failed", bad, len(results))
	}
	if len(results) == 0 {
		return errors.New("no cell was run")
	}
	return nil
}

func (p published) write(folder string, results []result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, r := range results {
		if r.timeline == nil {
			continue
		}
		if err := page.WriteJSON(filepath.Join(folder, "timeline.json"), r.timeline); err != nil {
			return err
		}
	}
	if err := page.WriteJSON(filepath.Join(folder, "matrix.json"), p); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "matrix.md"), []byte(p.markdown()), 0o644)
}

// columns are the heads of the table.
func columns() []string {
	return []string{"script", "program", "database", "mode", "lock", "instances", "stocked", "awards (log)", "awards (SQL)",
		"over-issued", "busy 503", "answers/s", "p99 ms", "verdict"}
}

func (r *result) columns() []string {
	if r.skipped() {
		return []string{r.Script, r.Program, dash(r.Database), dash(r.Mode), dash(r.Lock), fmt.Sprint(r.Instances),
			"–", "–", "–", "–", "–", "–", "–", r.verdict()}
	}
	counted := fmt.Sprint(r.SQLAwards)
	if r.Database == "" {
		counted = "–"
	}
	return []string{r.Script, r.Program, dash(r.Database), dash(r.Mode), dash(r.Lock), fmt.Sprint(r.Instances),
		fmt.Sprint(r.Stocked), fmt.Sprint(r.LogAwards), counted, fmt.Sprint(r.LogOverIssued), fmt.Sprint(r.Busy),
		fmt.Sprintf("%.0f", r.PerSecond), fmt.Sprintf("%.0f", r.P99), r.verdict()}
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func (p published) markdown() string {
	var b strings.Builder
	shape := "the whole matrix"
	if p.Quick {
		shape = "the quick matrix"
	}
	day, _, _ := strings.Cut(p.At, "T")
	fmt.Fprintf(&b, "# Load proof\n\n%s, %s, %.0f minutes. k6, the service and the databases shared %d cores. %s.\n\n", day, shape, p.Seconds/60, p.CPUs, p.Go)
	fmt.Fprintf(&b, "%s\n## Cells\n\nCompare figures of speed only within this table.\n\n", p.summary())
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(columns(), " | "), strings.Repeat("---|", len(columns())))
	for i := range p.Cells {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(p.Cells[i].columns(), " | "))
	}
	for i := range p.Cells {
		for _, fault := range p.Cells[i].Faults {
			fmt.Fprintf(&b, "\n- %s: %s", p.Cells[i].Name, strings.ReplaceAll(fault, "\n", " "))
		}
	}
	return b.String()
}
