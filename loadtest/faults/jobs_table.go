package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"drawsvc/loadtest/harness"
)

const jobFault = "job: "

// jobTable shows each fault of jobs by kind and database, a column for each lock.
func (p *published) jobTable() string {
	type place struct{ kind, fault, database string }
	var places []place
	var locks []string
	runs, held := map[string]int{}, map[string]int{}
	for i := range p.Cells {
		r := &p.Cells[i]
		fault, is := strings.CutPrefix(r.Fault, jobFault)
		if !is || r.Condemned || r.Skipped != "" {
			continue
		}
		if !slices.Contains(locks, r.Lock) {
			locks = append(locks, r.Lock)
		}
		kinds := r.Jobs
		if kinds == nil {
			kinds = []string{"catalogue"} // alone was tried before results named their jobs
		}
		for _, kind := range kinds {
			at := place{kind, fault, fmt.Sprintf("%s ×%d", r.Database, r.Instances)}
			if !slices.Contains(places, at) {
				places = append(places, at)
			}
			key := fmt.Sprint(at, r.Lock)
			runs[key]++
			if r.Passed {
				held[key]++
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.kind, b.kind) })
	heads := []string{"job", "fault", "database"}
	for _, lock := range locks {
		heads = append(heads, "`"+lock+":`")
	}
	var rows [][]string
	for _, at := range places {
		row := []string{"`" + at.kind + "`", at.fault, at.database}
		for _, lock := range locks {
			key := fmt.Sprint(at, lock)
			if runs[key] == 0 {
				row = append(row, harness.Dash(""))
				continue
			}
			row = append(row, fmt.Sprintf("%d of %d", held[key], runs[key]))
		}
		rows = append(rows, row)
	}
	return harness.Table(heads, rows...)
}
