package main

import (
	"fmt"
	"slices"
	"strings"

	"drawsvc/loadtest/harness"
)

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

func (d document) callersTable(b *strings.Builder) {
	b.WriteString("| what callers see | answers/s ÷ no-op | low to high | limit | | p99 ÷ no-op's | low to high | p99 | no-op's p99 |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, e := range d.mainRows() {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", strings.TrimSuffix(e.Name, " ÷ no-op"),
			e.median(), e.span(), e.limits().limit(), e.word(), strings.Join(e.Tail.cells(), " | "))
	}
}

// cells are the ratio, its span, and the two sides in milliseconds.
func (t *tail) cells() []string {
	if t == nil {
		return []string{"–", "–", "–", "–"}
	}
	ms := func(s spread) string { return short(s.Median) + " ms" }
	return []string{short(t.Median), short(t.Low) + " to " + short(t.High), ms(t.OverMillis), ms(t.UnderMillis)}
}

// made says with which command, when and how the figures were made.
func (d document) made() string {
	n := d.Settings
	day, _, _ := strings.Cut(d.At, "T")
	command := ""
	if d.Command != "" {
		command = fmt.Sprintf("`%s`, ", d.Command)
	}
	return fmt.Sprintf("%s%s:\neach candidate in turn (A B C A B C …), %d rounds of %d s, %d callers, on %d cores that wrk, the service and the databases share",
		command, day, n["rounds"], n["seconds"], n["connections"], d.CPUs)
}

func (d document) conditions() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Every request has a key of its own. The log holds %s awards when the run begins, and grows. The files are on %s,\n"+
		"where a flush takes %.0f µs. SQLite has one row: drawsvc leaves its page cache at SQLite's 2 MB, and the system keeps\n"+
		"the file's pages in whatever memory is free.\n\n| server | 512 MB | default memory |\n|---|---|---|\n",
		number(d.Settings["log"]), d.FileSystem, d.FlushMicros)
	for _, name := range []string{"postgres", "mysql"} {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` |\n", harness.DatabaseName(name), d.arguments(name, false), d.arguments(name, true))
	}
	return b.String()
}

func (d document) arguments(name string, defaults bool) string {
	args := slices.Clone(d.Servers[serverID{name, defaults}.String()])
	return strings.Join(slices.DeleteFunc(args, func(arg string) bool { return arg == "-c" }), " ")
}

func (d document) callersSection() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. A ratio is of two figures of one round;\nthe table has the median of the rounds, lowest and highest.\n\n", d.made())
	d.callersTable(&b)
	fmt.Fprintf(&b, "\n%s", d.conditions())
	return b.String()
}
