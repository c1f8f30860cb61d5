package main

import (
	"fmt"
	"slices"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/report"
)

// floodTable shows the medians of the honest calls, for each database: without a flood,
// and during the flood that makes them slowest. Its last row is the peak memory.
func (p *published) floodTable() string {
	heads := "call, median in ms"
	var order []string
	rows := map[string][]any{}
	memory := []any{"peak memory of the service"}
	for i := range p.Cells {
		r := &p.Cells[i]
		if r.Floods == nil || r.Condemned {
			continue
		}
		heads += " | " + r.Database + ": usual, then the slowest"
		memory = append(memory, fmt.Sprintf("%d of %d MiB", r.Floods.Peak, r.Floods.Limit))
		for k := range r.Floods.Calls {
			c := &r.Floods.Calls[k]
			if !slices.Contains(order, c.Call) {
				order = append(order, c.Call)
			}
			rows[c.Call] = append(rows[c.Call], besideFlood(c))
		}
	}
	t := report.NewTable(heads)
	for _, call := range order {
		t.Add(append([]any{"`" + call + "`"}, rows[call]...)...)
	}
	t.Add(memory...)
	return t.String()
}

// besideFlood formats a call's median without a flood, and the one during the flood
// that makes it slowest.
func besideFlood(c *client.FloodedCall) string {
	took, role := c.Worst()
	return fmt.Sprintf("%.0f, %.0f (%s)", c.Usual, took, role)
}
