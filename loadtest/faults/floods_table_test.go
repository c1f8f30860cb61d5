package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/client"
)

// TestFloodTable: the table has a column for each database, and leaves out the
// controls.
func TestFloodTable(t *testing.T) {
	t.Parallel()
	cell := func(database string, isDouble bool) result {
		return result{Database: database, Condemned: isDouble, Floods: &client.Floods{Peak: 152, Limit: 512, Calls: []client.FloodedCall{
			{Call: "GET /livez", Usual: 1.2, Under: map[string]float64{"draw": 20, "stock": 37.4}},
		}}}
	}
	p := published{Cells: []result{{}, cell("PostgreSQL", true), cell("PostgreSQL", false), cell("SQLite", false)}}
	require.Equal(t, `| call, median in ms | PostgreSQL: usual, then the slowest | SQLite: usual, then the slowest |
|---|---|---|
| `+"`GET /livez`"+` | 1, 37 (stock) | 1, 37 (stock) |
| peak memory of the service | 152 of 512 MiB | 152 of 512 MiB |
`, p.floodTable())
}
