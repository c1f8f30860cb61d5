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

// dialects is the registry: another database needs a folder and a line here.
func dialects() map[string]*engine.Dialect {
	return map[string]*engine.Dialect{
		"sqlite":     sqlite.Dialect(),
		"postgres":   postgres.Dialect(),
		"postgresql": postgres.Dialect(),
		"mysql":      mysql.Dialect(),
	}
}

// variants returns, by a database's name, the other databases to which its URLs may lead.
func variants() map[string][]*engine.Dialect {
	return map[string][]*engine.Dialect{
		"mysql": {tidb.Dialect()},
	}
}

// recognize returns the variant that the server of an open database runs, nil for none.
func recognize(ctx context.Context, e *engine.Engine) (*engine.Dialect, error) {
	all := variants()[e.Name]
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // its dialect stays
	}
	variables, err := readSigns(ctx, e, all)
	if err != nil {
		return nil, err
	}
	return variantOf(all, variables), nil
}

// versionVariable is a system variable with the same value as VERSION().
const versionVariable = "version"

// readSigns returns the values of the system variables that distinguish the variants. It
// leaves out a variable that the server does not have.
func readSigns(ctx context.Context, e *engine.Engine, all []*engine.Dialect) (map[string]string, error) {
	names := []string{versionVariable}
	for _, d := range all {
		names = append(names, d.Variable)
	}
	rows, err := e.Read.QueryContext(ctx, `SHOW VARIABLES WHERE Variable_name IN ('`+strings.Join(names, `', '`)+`')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err has it
	variables := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		variables[name] = value
	}
	return variables, rows.Err()
}

// variantOf returns the variant of a server that has these variables, nil for none.
func variantOf(all []*engine.Dialect, variables map[string]string) *engine.Dialect {
	for _, d := range all {
		_, has := variables[d.Variable]
		if has || strings.Contains(variables[versionVariable], d.VersionPart) {
			return d
		}
	}
	return nil
}

// LockStatements returns the statements of the locks in a kind of database. It is for
// tests that open a lock without a store.
func LockStatements(dialect string) locksql.Statements { return dialects()[dialect].Locks }

// Dialects returns the names of all kinds of databases, for tests that run on each.
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
