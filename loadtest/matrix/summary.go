package main

import (
	"fmt"
	"strings"

	"drawsvc/loadtest/harness"
)

type group struct {
	program, database, mode string
	instances               int
	cells                   int
	locks                   []string
	stocked, issued, over   int64
	asked                   int64
	verdict                 string
}

// groups sums up the sell-outs, in order of the cells.
func (p published) groups() []*group {
	var all []*group
	for i := range p.Cells {
		r := &p.Cells[i]
		if r.Script != "oversell" || r.skipped() {
			continue
		}
		n := len(all)
		if n == 0 || all[n-1].program != r.Program || all[n-1].database != r.Database || all[n-1].mode != r.Mode || all[n-1].instances != r.Instances {
			all = append(all, &group{program: r.Program, database: r.Database, mode: r.Mode, instances: r.Instances})
			n++
		}
		all[n-1].add(r)
	}
	return all
}

func (g *group) add(r *result) {
	g.cells++
	g.stocked += r.Stocked
	g.issued += r.LogAwards
	g.over += r.LogOverIssued
	g.asked += r.Won + r.SoldOut + r.Replays
	if r.Lock != "" && !strings.Contains(strings.Join(g.locks, " "), r.Lock) {
		g.locks = append(g.locks, "`"+r.Lock+":`")
	}
	if g.verdict == "" || !r.Passed {
		g.verdict = r.verdict()
	}
}

// summary says how many cells showed what they had to, and adds up the
// sell-outs.
func (p published) summary() string {
	var b strings.Builder
	passed, missing := 0, 0
	for i := range p.Cells {
		switch r := &p.Cells[i]; {
		case r.skipped():
			missing++
		case r.Passed:
			passed++
		}
	}
	fmt.Fprintf(&b, "%d cells: %d passed, %d skipped. The sell-outs, counted in the award log and by SQL:\n\n", len(p.Cells), passed, missing)
	b.WriteString(harness.Table([]string{"program", "database", "mode", "instances", "runs", "answers", "stocked", "issued", "over-issued", "verdict"}))
	for _, g := range p.groups() {
		name := g.program
		if name != service {
			name = "textbook `" + name + "`"
		}
		mode := strings.TrimSpace(g.mode + " " + strings.Join(g.locks, " "))
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %d | %d | %d | %s |\n",
			name, harness.Dash(g.database), harness.Dash(mode), g.instances, g.cells, g.asked, g.stocked, g.issued, g.over, g.verdict)
	}
	return b.String()
}
