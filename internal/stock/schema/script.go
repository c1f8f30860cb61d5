package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3/database"

	"drawsvc/internal/stock/engine"
)

// PendingSQL returns the statements that Migrate would run now, so that somebody can run
// them by hand. They include the records that package goose keeps of them. The result is
// "" if nothing is pending. PendingSQL writes nothing. Error: CodeStoreUnavailable.
func (k *Keeper) PendingSQL(ctx context.Context) (string, error) {
	schema, err := k.Schema(ctx)
	if err != nil || len(schema.Pending) == 0 {
		return "", err
	}
	versions, err := k.versions()
	if err != nil {
		return "", err
	}
	rows, err := versions.ListMigrations(ctx, k.engine.Read)
	isNew := err != nil && k.lacksTable(err)
	if err != nil && !isNew {
		return "", engine.PublicRead(engine.Classify(err, k.engine.ByCode))
	}
	var script script
	if isNew {
		err = script.add("the table of versions", true, func() error { return versions.CreateVersionTable(ctx, &script) },
			script.note(ctx, versions, 0))
	} else if len(rows) == 0 {
		err = script.add("the first row of versions", true, script.note(ctx, versions, 0))
	}
	for _, m := range schema.Pending {
		text, readErr := fs.ReadFile(k.brought.files, m.File)
		isWhole := !strings.Contains(string(text), noTransaction)
		err = errors.Join(err, readErr, script.add(m.File, isWhole, func() error {
			_, err := script.WriteString(goosed.ReplaceAllString(string(text), ""))
			return err
		}, script.note(ctx, versions, m.Version)))
	}
	return script.String(), err
}

// The annotations that package goose reads in a migration.
const noTransaction = "-- +goose NO TRANSACTION"

var goosed = regexp.MustCompile(`(?m)^-- \+goose .*\n`)

// script collects statements instead of executing them. It implements the part of
// database.DBTxConn through which package goose writes.
type script struct{ strings.Builder }

// add adds the statements of the parts, in a transaction if inTransaction is set.
func (s *script) add(title string, inTransaction bool, parts ...func() error) (err error) {
	s.WriteString("-- " + title + "\n")
	if inTransaction {
		s.WriteString("BEGIN;\n")
	}
	for _, part := range parts {
		err = errors.Join(err, part())
	}
	if inTransaction {
		s.WriteString("COMMIT;\n")
	}
	s.WriteString("\n")
	return err
}

// note adds the statement that records that a version is applied.
func (s *script) note(ctx context.Context, versions database.Store, version int64) func() error {
	return func() error { return versions.Insert(ctx, s, database.InsertRequest{Version: version}) }
}

var placeholder = regexp.MustCompile(`\?|\$\d`)

// ExecContext implements database.DBTxConn. The arguments are a number and a boolean.
func (s *script) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	query = placeholder.ReplaceAllStringFunc(query, func(string) string {
		value := args[0]
		args = args[1:]
		return fmt.Sprint(value)
	})
	_, err := fmt.Fprintf(s, "%s;\n", query)
	return nil, err
}

var errScript = errors.New("stock: a script cannot answer queries")

// QueryContext implements database.DBTxConn.
func (s *script) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errScript
}

// QueryRowContext implements database.DBTxConn.
func (s *script) QueryRowContext(context.Context, string, ...any) *sql.Row { return nil }
