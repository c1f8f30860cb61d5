package sqlite

import (
	"time"

	"drawsvc/internal/locker/locksql"
)

// tableLimit bounds one question of the lock in the file. It is long: what takes long is
// the turn at the one connection that writes.
const tableLimit = 5 * time.Second

// locks are the statements of the one lock that a file can give.
func locks() locksql.Statements {
	t := locksql.NewTable("CAST(unixepoch('now','subsec') * 1000000 AS INTEGER)")
	t.Limit = tableLimit
	return locksql.Statements{Database: "sqlite", Table: &t}
}
