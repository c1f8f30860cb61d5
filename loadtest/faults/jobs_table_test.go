package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/report"
)

// TestJobTableTellsWhatDidNotHold: the table shows runs that failed and locks that were
// not tried. It leaves out controls, other faults and skipped cells.
func TestJobTableTellsWhatDidNotHold(t *testing.T) {
	t.Parallel()
	on := func(fault, database, lock string, passed bool) result {
		return result{Fault: fault, Database: database, Lock: lock, Instances: 3, Jobs: []string{"statement", "audit"}, Outcome: report.Outcome{Passed: passed}}
	}
	control, skipped := on("job: killed", "PostgreSQL", "etcd", true), on("job: killed", "PostgreSQL", "row", false)
	control.Condemned, skipped.Skipped = true, "no server"
	p := published{Cells: []result{
		on("job: killed", "PostgreSQL", "table", true), on("job: killed", "PostgreSQL", "table", false), on("job: killed", "PostgreSQL", "redis", true),
		on("job: killed", "MariaDB", "table", true), on("link cut", "MariaDB", "session", true), control, skipped,
	}}
	require.Equal(t, strings.Join([]string{
		"| job | fault | database | `table:` | `redis:` |", "|---|---|---|---|---|",
		"| `audit` | killed | PostgreSQL ×3 | 1 of 2 | 1 of 1 |", "| `audit` | killed | MariaDB ×3 | 1 of 1 | – |",
		"| `statement` | killed | PostgreSQL ×3 | 1 of 2 | 1 of 1 |", "| `statement` | killed | MariaDB ×3 | 1 of 1 | – |", "",
	}, "\n"), p.jobTable())
}
