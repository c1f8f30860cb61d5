package main

import (
	"fmt"

	"drawsvc/loadtest/harness"
)

const results = "loadtest/capacity/results"

type published struct {
	harness.Stand
	// Awards were drawn for each row.
	Awards int     `json:"awards"`
	Rows   []grown `json:"rows"`
}

// rowsAll is how many rows there are when none was left out.
const rowsAll = 6

// grown are the bytes of the awards of a row in a database, and those that it wrote to
// its log meanwhile. A zero is not known.
type grown struct {
	Name    string `json:"name"`
	Table   int64  `json:"table"`
	Indexes int64  `json:"indexes"`
	All     int64  `json:"all"`
	Log     int64  `json:"log"`
}

func (b grown) less(was grown) grown {
	return grown{b.Name, b.Table - was.Table, b.Indexes - was.Indexes, b.All - was.All, b.Log - was.Log}
}

func heads() []string {
	return []string{"database, keys", "table", "indexes", "together", "written to the log"}
}

func (b grown) row(awards int) []string {
	million := func(n int64) string {
		if n == 0 {
			return harness.Dash("")
		}
		return fmt.Sprintf("%.0f MB", float64(n)/float64(awards))
	}
	return []string{b.Name, million(b.Table), million(b.Indexes), million(b.All), million(b.Log)}
}

func (p published) table() string {
	var rows [][]string
	for _, b := range p.Rows {
		rows = append(rows, b.row(p.Awards))
	}
	return harness.Table(heads(), rows...)
}

func (p published) markdown() string {
	return fmt.Sprintf("# Bytes of a million awards\n\n%s. %d awards were drawn from one pool for each row. %s.\n\n%s", p.Day(), p.Awards, p.Go, p.table())
}

func (p published) disk() string {
	return fmt.Sprintf("Published on %s: %d awards were drawn from one pool for each row. The figures are of a million:\n\n%s", p.Day(), p.Awards, p.table())
}

// named is a row, empty where there is none.
func (p published) named(name string) grown {
	for _, r := range p.Rows {
		if r.Name == name {
			return r
		}
	}
	return grown{}
}
