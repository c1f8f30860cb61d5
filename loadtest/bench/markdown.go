package main

import (
	"fmt"
	"io"
	"strings"

	"drawsvc/loadtest/harness"
)

func (d document) print(out io.Writer) {
	fmt.Fprintln(out)
	if d.Against != "" {
		harness.PrintTable(out, comparedTitles(d.Against), d.comparedRows()...)
	} else {
		d.printRatios(out)
	}
	if count, all := d.disturbed(); count > 0 {
		fmt.Fprintf(out, "\nThe machine worked for others during %d of %d measurements: do not publish this run.\n", count, all)
	}
}

func (d document) printRatios(out io.Writer) {
	var rows [][]string
	for _, e := range d.Entries {
		row := e.row()
		if e.Tail != nil {
			row = append(row, e.Tail.cells()[:2]...)
		}
		rows = append(rows, row)
	}
	harness.PrintTable(out, append(ratioTitles(), "p99 ÷ no-op's", "low to high"), rows...)
}

func ratioTitles() []string { return []string{"measure", "limit", "median", "low to high", ""} }

func (j judged) row() []string {
	return []string{j.Name, j.limits().limit(), j.median(), j.span(), j.word()}
}

func (j judged) limits() limits { return limits{j.Least, j.Most} }

func (j judged) median() string {
	if j.Missing {
		return "–"
	}
	return short(j.Median)
}

func (j judged) span() string {
	if j.Missing {
		return "–"
	}
	return short(j.Low) + " to " + short(j.High)
}

func (j judged) word() string {
	switch {
	case j.Missing:
		return "no figure"
	case !j.Reached:
		return "not reached"
	case j.Least == 0 && j.Most == 0:
		return ""
	}
	return "reached"
}

func short(value float64) string {
	switch {
	case value == 0:
		return "0"
	case value < 0.1:
		return fmt.Sprintf("%.2g", value)
	case value < 10:
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

// section is what the page about performance shows: what callers see, the other
// ratios, the picture, and where the rest is. results is the folder of the
// results as the page's links name it.
func (d document) section(results string) string {
	var b strings.Builder
	b.WriteString(d.callersSection())
	b.WriteString("\nOn an empty log, save where one is named, with 512 MB of buffers:\n\n")
	d.ratioTable(&b, d.otherRows())
	fmt.Fprintf(&b, "\n![Answers per second beside a no-op handler](%s/published.svg)\n\n", results)
	fmt.Fprintf(&b, "CPU, latencies, round trips, WAL, memory and durability of every candidate: [published.md](%[1]s/published.md); raw:\n"+
		"[published.json](%[1]s/published.json).\n", results)
	return b.String()
}

func (d document) markdown() string {
	var b strings.Builder
	shape := "all measures"
	if d.Quick {
		shape = "the quick measures"
	}
	if d.Partial {
		shape = "some measures"
	}
	fmt.Fprintf(&b, "# Speed\n\n%s.\nThese are %s; %s. A ratio is of two figures of one round; the median of the rounds, lowest to highest.\n\n", d.made(), shape, d.Go)
	if count, all := d.disturbed(); count > 0 {
		fmt.Fprintf(&b, "The machine worked for others during %d of %d measurements.\n\n", count, all)
	}
	if d.Against != "" {
		b.WriteString(harness.Table(comparedTitles(d.Against), d.comparedRows()...))
		return b.String()
	}
	if rows := d.mainRows(); len(rows) > 0 {
		d.callersTable(&b)
		fmt.Fprintf(&b, "\n%s\n", d.conditions())
	}
	d.ratioTable(&b, d.otherRows())
	d.candidateTable(&b)
	return b.String()
}

func (d document) ratioTable(b *strings.Builder, rows []judged) {
	b.WriteString(harness.Table(ratioTitles()))
	for _, e := range rows {
		b.WriteString(harness.TableRow(e.row()...))
	}
}

// column of the candidates' table: a median, divided by one of the no-op
// handler's where by names its metric. What is not divided counts or weighs, and
// is the same on every machine.
type column struct {
	title  string
	metric metric
	by     metric
}

func columns() []column {
	return []column{
		{"answers/s ÷ no-op", perSecond, perSecond},
		{"CPU, service ÷ no-op", serviceCPU, serviceCPU},
		{"CPU, database ÷ no-op", databaseCPU, serviceCPU},
		{"p50 ÷ no-op", p50, p50},
		{"p99 ÷ no-op", p99, p99},
		{"p99.9 ÷ no-op", p999, p999},
		{"draws per batch", batchDraws, ""},
		{"round trips per draw", roundTrips, ""},
		{"WAL bytes per draw", walBytes, ""},
		{"page bytes per draw", pageBytes, ""},
		{"memory, MB", memory, ""},
	}
}

func (d document) candidateTable(b *strings.Builder) {
	var titles []string
	for _, c := range columns() {
		titles = append(titles, c.title)
	}
	b.WriteString("\nThe candidates, each beside the no-op handler without keys:\n\n")
	b.WriteString(harness.Table(append([]string{"candidate", "durable when 200 is answered"}, titles...)))
	ruler := d.ruler()
	for _, c := range d.Candidates {
		if len(c.Rounds) == 0 || c.Middle[serviceCPU].Median == 0 {
			continue // without HTTP, or failed
		}
		cells := []string{c.Name, c.Durable}
		for _, col := range columns() {
			cells = append(cells, col.cell(c.Middle, ruler))
		}
		b.WriteString(harness.TableRow(cells...))
	}
}

func (col column) cell(middle, ruler map[metric]spread) string {
	value, ok := middle[col.metric]
	if !ok {
		return "–"
	}
	if col.by == "" {
		return short(value.Median)
	}
	by, ok := ruler[col.by]
	if !ok || by.Median == 0 {
		return "–"
	}
	return short(value.Median / by.Median)
}

// ruler is the no-op handler without keys, nil where it was not measured.
func (d document) ruler() map[metric]spread {
	for _, c := range d.Candidates {
		if c.Name == (candidate{program: "noop"}).name() {
			return c.Middle
		}
	}
	return nil
}
