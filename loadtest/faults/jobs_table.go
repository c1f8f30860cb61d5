package main

import (
	"fmt"
	"slices"
	"strings"

	"drawsvc/loadtest/harness"
)

// jobFault begins the names of the faults of jobs. The job that runs in them is the
// catalogue, whose source answers slowly.
const (
	jobFault  = "job: "
	jobInThem = "catalogue"
)

// jobTable shows each fault of jobs by database and lock, a column for each lock.
func (p *published) jobTable() string {
	type place struct{ fault, database string }
	var places []place
	var locks []string
	runs, held := map[string]int{}, map[string]int{}
	for i := range p.Cells {
		r := &p.Cells[i]
		fault, is := strings.CutPrefix(r.Fault, jobFault)
		if !is || r.Condemned || r.Skipped != "" {
			continue
		}
		at := place{fault, fmt.Sprintf("%s ×%d", r.Database, r.Instances)}
		if !slices.Contains(places, at) {
			places = append(places, at)
		}
		if !slices.Contains(locks, r.Lock) {
			locks = append(locks, r.Lock)
		}
		key := fmt.Sprint(at, r.Lock)
		runs[key]++
		if r.Passed {
			held[key]++
		}
	}
	heads := []string{"job", "fault", "database"}
	for _, lock := range locks {
		heads = append(heads, "`"+lock+":`")
	}
	var rows [][]string
	for _, at := range places {
		row := []string{"`" + jobInThem + "`", at.fault, at.database}
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
