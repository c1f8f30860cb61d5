package mysql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/rulebook"
)

// The error numbers of MySQL and MariaDB for a statement that the account may not
// execute.
const (
	tableDenied  = 1142
	columnDenied = 1143
)

// MissingPrivileges returns the privileges on the tables that the account lacks. A
// privilege may also come from a role, a database or a column, so the server has to check
// statements. EXPLAIN needs the privileges of its statement, and executes nothing.
func MissingPrivileges(ctx context.Context, e *engine.Engine, tables []string) (string, error) {
	var missing []string
	for _, table := range slices.Sorted(slices.Values(tables)) {
		column, err := firstColumn(ctx, e, table)
		if err != nil {
			return "", err
		}
		for _, ask := range []struct{ privilege, statement string }{
			{"DELETE", `EXPLAIN DELETE FROM ` + table + ` WHERE 1 = 0`},
			{"INSERT", `EXPLAIN INSERT INTO ` + table + ` () VALUES ()`},
			{"SELECT", `SELECT COUNT(*) FROM ` + table + ` WHERE 1 = 0`},
			{"UPDATE", `EXPLAIN UPDATE ` + table + ` SET ` + column + ` = NULL WHERE 1 = 0`},
		} {
			if table == schemaTable && ask.privilege != "SELECT" {
				continue // for migrations
			}
			if ask.privilege == "DELETE" && !slices.Contains(rulebook.TablesWithDeletes(), table) {
				continue
			}
			denied, err := isDenied(ctx, e, ask.statement)
			if err != nil {
				return "", err
			}
			if denied {
				missing = append(missing, ask.privilege+" on "+table)
			}
		}
	}
	return strings.Join(missing, ", "), nil
}

// schemaTable is the table that only migrations change.
const schemaTable = "schema_admits"

// firstColumn returns the name of a column that the account may use in a table. If there
// is none, it returns any name.
func firstColumn(ctx context.Context, e *engine.Engine, table string) (string, error) {
	names, err := engine.QueryAll(ctx, e.Read, func(row engine.Scanner) (name string, err error) { return name, row.Scan(&name) },
		`SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position LIMIT 1`, table)
	if err != nil || len(names) == 0 {
		return "none", err
	}
	return "`" + names[0] + "`", nil
}

// isDenied reports whether the account may not execute a statement. It ignores other
// errors, such as a missing table, which other rules find.
func isDenied(ctx context.Context, e *engine.Engine, statement string) (bool, error) {
	_, err := engine.QueryAll(ctx, e.Read, func(engine.Scanner) (struct{}, error) { return struct{}{}, nil }, statement)
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return false, err
	}
	return refused.Number == tableDenied || refused.Number == columnDenied, nil
}
