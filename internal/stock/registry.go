package stock

import (
	"slices"

	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
	"drawsvc/internal/stock/postgres"
	"drawsvc/internal/stock/sqlite"
)

// dialects is the registry: a further database is one folder and one line.
func dialects() map[string]*engine.Dialect {
	return map[string]*engine.Dialect{
		"sqlite":     sqlite.Dialect(),
		"postgres":   postgres.Dialect(),
		"postgresql": postgres.Dialect(),
		"mysql":      mysql.Dialect(),
	}
}

// LockStatements returns the statements of the locks in a kind of database, for tests
// that open one by other means.
func LockStatements(dialect string) locksql.Statements { return dialects()[dialect].Locks }

// Dialects returns the names of all kinds of database, for tests that range over them.
func Dialects() []string {
	var names []string
	for _, d := range dialects() {
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}
