package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/internal/page"
	"drawsvc/loadtest/harness"
)

type published struct {
	harness.Stand
	Cells []result `json:"cells"`
}

// publish writes the results and prints the table. Its error is the verdict of
// the whole matrix.
func publish(s settings, out io.Writer, results []result, took time.Duration) error {
	verdict := verdictOf(results)
	p := published{harness.NewStand(s.Quick, took, verdict), results}
	harness.Say(out, "\n")
	harness.PrintTable(out, columns(), p.rows()...)
	if err := p.write(s.Results); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	harness.Say(out, "\n%d cells in %v, results in %s\n", len(results), took.Round(time.Second), s.Results)
	return verdict
}

// verdictOf is nil when every cell showed what it had to.
func verdictOf(results []result) error {
	return harness.Verdict("cells", results, func(r *result) bool { return !r.Passed && !r.skipped() })
}

func (p published) write(folder string) error {
	if err := harness.Write(folder, "matrix", p, p.markdown()); err != nil {
		return err
	}
	for _, r := range p.Cells {
		if r.timeline == nil {
			continue
		}
		if err := page.WriteJSON(filepath.Join(folder, "timeline.json"), r.timeline); err != nil {
			return err
		}
	}
	return nil
}

func columns() []string {
	return []string{"script", "program", "database", "mode", "lock", "instances", "stocked", "awards (log)", "awards (SQL)",
		"over-issued", "busy 503", "answers/s", "p99 ms", "verdict"}
}

func (r *result) columns() []string {
	if r.skipped() {
		return []string{r.Script, r.Program, harness.Dash(r.Database), harness.Dash(r.Mode), harness.Dash(r.Lock), fmt.Sprint(r.Instances),
			"–", "–", "–", "–", "–", "–", "–", r.verdict()}
	}
	counted := fmt.Sprint(r.SQLAwards)
	if r.Database == "" {
		counted = "–"
	}
	return []string{r.Script, r.Program, harness.Dash(r.Database), harness.Dash(r.Mode), harness.Dash(r.Lock), fmt.Sprint(r.Instances),
		fmt.Sprint(r.Stocked), fmt.Sprint(r.LogAwards), counted, fmt.Sprint(r.LogOverIssued), fmt.Sprint(r.Busy),
		fmt.Sprintf("%.0f", r.PerSecond), fmt.Sprintf("%.0f", r.P99), r.verdict()}
}

func (p published) rows() (rows [][]string) {
	for i := range p.Cells {
		rows = append(rows, p.Cells[i].columns())
	}
	return rows
}

func (p published) markdown() string {
	var b strings.Builder
	shape := "the whole matrix"
	if p.Quick {
		shape = "the quick matrix"
	}
	fmt.Fprintf(&b, "# Load proof\n\n%s, %s, %.0f minutes. k6, the service and the databases shared %d cores. %s.\n\n", p.Day(), shape, p.Seconds/60, p.CPUs, p.Go)
	fmt.Fprintf(&b, "%s%s\n## Cells\n\nCompare figures of speed only within this table.\n\n", p.summary(), p.exchanges())
	b.WriteString(harness.Table(columns(), p.rows()...))
	for i := range p.Cells {
		for _, fault := range p.Cells[i].Faults {
			fmt.Fprintf(&b, "\n- %s: %s", p.Cells[i].Name, strings.ReplaceAll(fault, "\n", " "))
		}
	}
	return b.String()
}
