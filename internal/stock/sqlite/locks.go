package sqlite

import (
	"time"

	"drawsvc/internal/locker/locksql"
)

// tableLimit bounds one query of the lock in the file. It is long because the query may
// wait for the only connection that writes.
const tableLimit = 5 * time.Second

// locks returns the statements of the only lock in a file.
func locks() locksql.Statements {
	t := locksql.NewTable("CAST(unixepoch('now','subsec') * 1000000 AS INTEGER)")
	t.Limit = tableLimit
	return locksql.Statements{Database: "sqlite", Table: &t}
}
