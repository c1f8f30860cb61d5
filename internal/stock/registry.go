package stock

import (
	"context"
	"slices"
	"strings"

	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
	"drawsvc/internal/stock/postgres"
	"drawsvc/internal/stock/sqlite"
	"drawsvc/internal/stock/tidb"
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

// variants returns the databases that the URLs of another one lead to, by its name.
func variants() map[string][]*engine.Dialect {
	return map[string][]*engine.Dialect{
		"mysql": {tidb.Dialect()},
	}
}

// recognize returns the variant that the server of an open database is, or nil.
func recognize(ctx context.Context, e *engine.Engine) (*engine.Dialect, error) {
	all := variants()[e.Name]
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // its dialect stays
	}
	var version string
	if err := e.Read.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); err != nil {
		return nil, err
	}
	for _, d := range all {
		if strings.Contains(version, d.VersionPart) {
			return d, nil
		}
	}
	return nil, nil //nolint:nilnil // its dialect stays
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
