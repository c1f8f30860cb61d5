package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

func (d document) print(out io.Writer) {
	fmt.Fprintln(out)
	if d.Against != "" {
		d.comparedTable().Print(out)
	} else {
		d.printRatios(out)
	}
	if count, all := d.disturbed(); count > 0 {
		fmt.Fprintf(out, "\nThe machine worked for others during %d of %d measurements: do not publish this run.\n", count, all)
	}
}

func (d document) printRatios(out io.Writer) {
	t := report.NewTable(ratioHeads + " | p99 ÷ no-op's | low to high")
	for _, e := range d.Entries {
		row := e.row()
		if e.Tail != nil {
			row = append(row, e.Tail.cells()[:2]...)
		}
		t.Add(row...)
	}
	t.Print(out)
}

const ratioHeads = "measure | limit | median | low to high | "

func (j judged) row() []any {
	return []any{j.Name, j.limits().limit(), j.median(), j.span(), j.word()}
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

// section returns the section of the page about performance: what callers see, the
// other ratios, the picture, and links to the rest. results is the folder of the
// results as the page's links name it.
func (d document) section(results string) string {
	return fmt.Sprintf("%[2]s\nWith 512 MB of buffers, and an empty log unless the row names one:\n\n%[3]s"+
		"\n![Answers per second beside a no-op handler](%[1]s/published.svg)\n\n"+
		"CPU, latencies, round trips, WAL, memory and durability of every candidate: [published.md](%[1]s/published.md); raw:\n"+
		"[published.json](%[1]s/published.json).\n", results, d.callersSection(), d.ratioTable())
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
	fmt.Fprintf(&b, "# Speed\n\n%s.\nThese are %s; %s. Each ratio compares two figures of one round; the tables show its median, lowest and highest.\n\n", d.made(), shape, d.Go)
	if count, all := d.disturbed(); count > 0 {
		fmt.Fprintf(&b, "The machine worked for others during %d of %d measurements.\n\n", count, all)
	}
	if d.Against != "" {
		return b.String() + d.comparedTable().String()
	}
	if len(d.latencies()) > 0 {
		return b.String() + d.latencyText()
	}
	if len(d.mainRows()) > 0 {
		fmt.Fprintf(&b, "%s\n%s\n", d.callersTable(), d.conditions())
	}
	fmt.Fprintf(&b, "%s\nThe candidates, each beside the no-op handler without keys:\n\n%s", d.ratioTable(), d.candidateTable())
	return b.String()
}

func (d document) ratioTable() *report.Table {
	t := report.NewTable(ratioHeads)
	for _, e := range d.otherRows() {
		t.Add(e.row()...)
	}
	return t
}

// column is a column of the candidates' table: the median of a metric. If the field by
// is set, the median is divided by the no-op handler's median of that metric. Other
// columns are counts or sizes, which are the same on every machine.
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

func (d document) candidateTable() *report.Table {
	heads := "candidate | durable when 200 is answered"
	for _, c := range columns() {
		heads += " | " + c.title
	}
	t := report.NewTable(heads)
	ruler := d.ruler()
	for _, c := range d.Candidates {
		if len(c.Rounds) == 0 || c.Middle[serviceCPU].Median == 0 {
			continue // without HTTP, or failed
		}
		cells := []any{c.Name, c.Durable}
		for _, col := range columns() {
			cells = append(cells, col.cell(c.Middle, ruler))
		}
		t.Add(cells...)
	}
	return t
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

// ruler returns the figures that columns are divided by: the no-op handler's, without
// keys. It returns nil if that was not measured.
func (d document) ruler() map[metric]spread {
	for _, c := range d.Candidates {
		if c.Name == (candidate{program: "noop"}).name() {
			return c.Middle
		}
	}
	return nil
}

func (d document) mainRows() []judged  { return d.rows(true) }
func (d document) otherRows() []judged { return d.rows(false) }

func (d document) rows(main bool) (rows []judged) {
	for _, e := range d.Entries {
		if e.Main == main {
			rows = append(rows, e)
		}
	}
	return rows
}

func (d document) callersTable() *report.Table {
	t := report.NewTable("what callers see | answers/s ÷ no-op | low to high | limit |  | p99 ÷ no-op's | low to high | p99 | no-op's p99")
	for _, e := range d.mainRows() {
		t.Add(append([]any{strings.TrimSuffix(e.Name, " ÷ no-op"), e.median(), e.span(), e.limits().limit(), e.word()}, e.Tail.cells()...)...)
	}
	return t
}

// cells returns the ratio, its span, and the two sides in milliseconds.
func (t *tail) cells() []any {
	if t == nil {
		return []any{"–", "–", "–", "–"}
	}
	ms := func(s spread) string { return short(s.Median) + " ms" }
	return []any{short(t.Median), short(t.Low) + " to " + short(t.High), ms(t.OverMillis), ms(t.UnderMillis)}
}

// made states when the figures were measured, how, and by which command.
func (d document) made() string {
	n := d.Settings
	command := ""
	if d.Command != "" {
		command = fmt.Sprintf("`%s`, ", d.Command)
	}
	load := fmt.Sprintf("%d callers, on %d cores that wrk", n["connections"], d.CPUs)
	if len(d.latencies()) > 0 {
		load = fmt.Sprintf("on %d cores that k6", d.CPUs)
	}
	return fmt.Sprintf("%s%s:\neach candidate in turn (A B C A B C …), %d rounds of %d s, %s, the service and the databases share",
		command, report.Day(d.At), n["rounds"], n["seconds"], load)
}

func (d document) conditions() string {
	t := report.NewTable("server | 512 MB | default memory")
	for _, name := range []string{"postgres", "mysql"} {
		t.Add(place.Of(name).Name, "`"+d.arguments(name, false)+"`", "`"+d.arguments(name, true)+"`")
	}
	return fmt.Sprintf("Every request has a key of its own. The log holds %s awards when the run begins, and grows. The files are on %s,\n"+
		"where a flush takes %.0f µs. SQLite has one row: drawsvc leaves its page cache at SQLite's 2 MB, and the system keeps\n"+
		"the file's pages in whatever memory is free.\n\n%s", number(d.Settings["log"]), d.FileSystem, d.FlushMicros, t)
}

func (d document) arguments(name string, defaults bool) string {
	args := slices.Clone(d.Servers[serverID{name, defaults}.String()])
	return strings.Join(slices.DeleteFunc(args, func(arg string) bool { return arg == "-c" }), " ")
}

func (d document) callersSection() string {
	return fmt.Sprintf("%s. Each ratio compares two figures of one round.\nThe table shows its median, lowest and highest.\n\n%s\n%s",
		d.made(), d.callersTable(), d.conditions())
}
