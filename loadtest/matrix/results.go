package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

// result is the result of one cell. It is published unchanged.
type result struct {
	report.Outcome
	Script    string `json:"script"`
	Program   string `json:"program"`
	Database  string `json:"database"`
	Mode      string `json:"mode"`
	Lock      string `json:"lock"`
	Instances int    `json:"instances"`
	// MustCross is the threshold that the run had to cross, "" for none.
	MustCross string `json:"must_cross"`

	Faults []string `json:"faults"`
	Exit   int      `json:"k6_exit_code"`
	// Took is the time of the whole cell, and Seconds is the time of only the load, both
	// in seconds.
	Took    float64 `json:"took"`
	Seconds float64 `json:"seconds"`

	Stocked       int64   `json:"stocked"`
	LogAwards     int64   `json:"log_awards"`
	LogOverIssued int64   `json:"log_over_issued"`
	SQLAwards     int64   `json:"sql_awards"`
	SQLOverIssued int64   `json:"sql_over_issued"`
	Won           int64   `json:"draws_won"`
	SoldOut       int64   `json:"draws_sold_out"`
	Replays       int64   `json:"replays"`
	Busy          int64   `json:"busy_503"`
	Unknown       int64   `json:"unknown_504"`
	OddsZ         float64 `json:"odds_z"`
	PerSecond     float64 `json:"answers_per_second"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	Longest       float64 `json:"longest_ms"`
	// Exchanges is the number of exchanges that were checked by openapi.yaml, and kinds
	// the number of their kinds; 0 if none was checked.
	Exchanges int `json:"exchanges"`
	Kinds     int `json:"kinds"`

	output   string
	timeline *timeline
}

func newResult(c cell) result {
	return result{
		Outcome: report.Outcome{Name: c.name()}, Script: c.script, Program: c.program, Database: place.Of(c.Database).Name, Mode: c.Mode, Lock: c.Lock,
		Instances: c.Instances, MustCross: c.crossed, Faults: []string{},
	}
}

// take copies the figures of a run.
func (r *result) take(run loadRun) {
	r.Exit = run.exit
	s := run.summary
	if s == nil {
		return
	}
	total := total(s.Prizes)
	r.Seconds, r.Stocked, r.LogAwards, r.LogOverIssued = s.Seconds, total.Stocked, total.Awards, total.OverIssued
	n := func(name string) int64 { return int64(s.metric(name, "count")) }
	r.Won, r.SoldOut, r.Replays, r.Busy, r.Unknown = n("won"), n("sold_out"), n("replays"), n("busy"), n("outcome_unknown")
	r.OddsZ = s.metric("odds_z", "value")
	r.PerSecond = s.metric("http_reqs", "rate")
	r.P50, r.P99, r.Longest = s.metric("draw_latency", "med"), s.metric("draw_latency", "p(99)"), s.metric("draw_latency", "max")
}

// verdict returns one word, or the reason.
func (r *result) verdict() string {
	switch {
	case r.IsSkipped():
		return "skipped: " + r.Skipped
	case !r.Passed:
		return "FAILED"
	case r.MustCross != "":
		return fmt.Sprintf("caught (%s)", r.MustCross)
	}
	return "ok"
}

// line returns the line that is printed when the cell is done.
func (r *result) line() string {
	if r.IsSkipped() {
		return r.verdict()
	}
	lines := []string{fmt.Sprintf("%s, %d of %d issued, %.0f s", r.verdict(), r.LogAwards, r.Stocked, r.Took)}
	return strings.Join(append(lines, r.Faults...), "\n        ")
}

func indent(text string) string {
	return "        " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n        ")
}

// published is the file matrix.json.
type published struct {
	report.Stand
	Cells []result `json:"cells"`
}

// publish writes the results and prints the table. Its error is the verdict of
// the whole matrix.
func publish(s settings, out io.Writer, results []result, took time.Duration) error {
	verdict := report.Verdict("cells", results)
	p := published{report.NewStand(s.Quick, took, verdict), results}
	harness.Say(out, "\n")
	p.table().Print(out)
	if err := p.write(s.Results); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	harness.Say(out, "\n%d cells in %v, results in %s\n", len(results), took.Round(time.Second), s.Results)
	return verdict
}

func (p published) write(folder string) error {
	if err := report.Write(folder, "matrix", p, p.markdown()); err != nil {
		return err
	}
	for _, r := range p.Cells {
		if r.timeline != nil {
			return errors.Join(report.WriteJSON(filepath.Join(folder, "timeline.json"), r.timeline), drawPicture(folder))
		}
	}
	return nil
}

// drawPicture draws the timeline into a folder.
func drawPicture(folder string) error {
	t, err := report.Read[timeline](filepath.Join(folder, "timeline.json"))
	if err == nil && len(t.Samples) < 3 {
		err = errors.New("the timeline has too few samples to draw")
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "draws.svg"), []byte(t.svg()), 0o644)
}

// table returns a row for each cell.
func (p published) table() *report.Table {
	t := report.NewTable("script | program | database | mode | lock | instances | stocked | awards (log) | awards (SQL) | " +
		"over-issued | busy 503 | answers/s | p99 ms | verdict")
	for i := range p.Cells {
		r := &p.Cells[i]
		cells := []any{r.Script, r.Program, report.Dash(r.Database), report.Dash(r.Mode), report.Dash(r.Lock), r.Instances}
		switch {
		case r.IsSkipped():
			cells = append(cells, "–", "–", "–", "–", "–", "–", "–")
		case r.Database == "":
			cells = append(cells, r.Stocked, r.LogAwards, "–")
		default:
			cells = append(cells, r.Stocked, r.LogAwards, r.SQLAwards)
		}
		if !r.IsSkipped() {
			cells = append(cells, r.LogOverIssued, r.Busy, fmt.Sprintf("%.0f", r.PerSecond), fmt.Sprintf("%.0f", r.P99))
		}
		t.Add(append(cells, r.verdict())...)
	}
	return t
}

func (p published) markdown() string {
	var b strings.Builder
	shape := "the whole matrix"
	if p.Quick {
		shape = "the quick matrix"
	}
	fmt.Fprintf(&b, "# Load proof\n\n%s, %s, %.0f minutes. k6, the service and the databases shared %d cores. %s.\n\n", report.Day(p.At), shape, p.Seconds/60, p.CPUs, p.Go)
	fmt.Fprintf(&b, "%s%s\n## Cells\n\nCompare figures of speed only within this table.\n\n%s", p.summary(), p.exchanges(), p.table())
	for i := range p.Cells {
		for _, fault := range p.Cells[i].Faults {
			b.WriteString(report.List(p.Cells[i].Name + ": " + fault))
		}
	}
	return b.String()
}

// exchanges describes the checked exchanges, "" if there are none.
func (p published) exchanges() string {
	runs, exchanges, kinds := 0, 0, 0
	for i := range p.Cells {
		if r := &p.Cells[i]; r.Exchanges > 0 {
			runs++
			exchanges += r.Exchanges
			kinds += r.Kinds
		}
	}
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("\nIn %d runs, one of each script, a proxy judged requests and responses by [openapi.yaml](../../internal/http/openapi.yaml):"+
		" %d exchanges of %d kinds.\n", runs, exchanges, kinds)
}

// group is the sum of the sell-outs of one program on one database in one mode.
type group struct {
	result
	cells   int
	locks   string
	verdict string
}

// groups sums up the sell-outs, in order of the cells.
func (p published) groups() (all []*group) {
	for _, r := range p.Cells {
		if r.Script != "oversell" || r.IsSkipped() {
			continue
		}
		n := len(all) - 1
		if n < 0 || all[n].Program != r.Program || all[n].Database != r.Database || all[n].Mode != r.Mode || all[n].Instances != r.Instances {
			all = append(all, &group{result: result{Program: r.Program, Database: r.Database, Mode: r.Mode, Instances: r.Instances}})
			n++
		}
		all[n].add(r)
	}
	return all
}

func (g *group) add(r result) {
	g.cells++
	g.Stocked += r.Stocked
	g.LogAwards += r.LogAwards
	g.LogOverIssued += r.LogOverIssued
	g.Won += r.Won + r.SoldOut + r.Replays
	if r.Lock != "" && !strings.Contains(g.locks, r.Lock) {
		g.locks += " `" + r.Lock + ":`"
	}
	if g.verdict == "" || !r.Passed {
		g.verdict = r.verdict()
	}
}

// summary states how many cells gave the expected result, and adds up the sell-outs.
func (p published) summary() string {
	failed, skipped := report.Count(p.Cells)
	t := report.NewTable("program | database | mode | instances | runs | answers | stocked | issued | over-issued | verdict")
	for _, g := range p.groups() {
		name := g.Program
		if name != service {
			name = "textbook `" + name + "`"
		}
		t.Add(name, report.Dash(g.Database), report.Dash(strings.TrimSpace(g.Mode+g.locks)), g.Instances, g.cells, g.Won, g.Stocked, g.LogAwards, g.LogOverIssued, g.verdict)
	}
	return fmt.Sprintf("%d cells: %d passed, %d skipped. The sell-outs, counted in the award log and by SQL:\n\n%s", len(p.Cells), len(p.Cells)-failed-skipped, skipped, t)
}
