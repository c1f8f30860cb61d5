package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// errPending means that migrations are pending. The command has printed them.
var errPending = errors.New("a migration is pending: run `drawsvc migrate up`")

func migrateCommand(env setting.Environment) *cobra.Command {
	return newGroup("migrate", "Bring the database's schema up to date, or print its version", migrateUpCommand(env), migrateStatusCommand(env), migrateSQLCommand(env))
}

func migrateUpCommand(env setting.Environment) *cobra.Command {
	var db setting.Database
	c := &cobra.Command{
		Use:   "up",
		Short: "Bring the schema up to date; safe while draws run, when several do so at once, and after a crash",
		Args:  noArguments,
	}
	db.Flag(c, env)
	c.RunE = func(c *cobra.Command, _ []string) error {
		o := stock.Options{Log: slog.New(slog.NewTextHandler(env.Stderr, nil))} // logs the cause of a wait
		return db.Opened(c, o, func(ctx context.Context, store *stock.Store) error {
			if err := store.Migrate(ctx); err != nil {
				return err
			}
			schema, err := store.Schema(ctx)
			if err != nil {
				return err
			}
			return printSchema(env.Stdout, outputTable, &schema)
		})
	}
	return c
}

func migrateStatusCommand(env setting.Environment) *cobra.Command {
	var db setting.Database
	var output output
	c := &cobra.Command{
		Use:   "status",
		Short: "Print the version of the schema; exit code 4 when a migration is pending",
		Args:  noArguments,
	}
	db.Flag(c, env)
	output.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return db.Opened(c, stock.Options{ReadOnly: true, AbsentIsEmpty: true}, func(ctx context.Context, store *stock.Store) error {
			schema, err := store.Schema(ctx)
			if err != nil {
				return err
			}
			if err := printSchema(env.Stdout, output, &schema); err != nil {
				return err
			}
			if len(schema.Pending) > 0 {
				return errPending
			}
			return schema.Check()
		})
	}
	return c
}

func migrateSQLCommand(env setting.Environment) *cobra.Command {
	var db setting.Database
	c := &cobra.Command{
		Use:   "sql",
		Short: "Print the statements that `migrate up` would run now",
		Args:  noArguments,
	}
	db.Flag(c, env)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return db.Opened(c, stock.Options{ReadOnly: true, AbsentIsEmpty: true}, func(ctx context.Context, store *stock.Store) error {
			text, err := store.PendingSQL(ctx)
			if err != nil {
				return err
			}
			if text == "" {
				text = "-- nothing is pending\n"
			}
			_, err = io.WriteString(env.Stdout, text)
			return err
		})
	}
	return c
}

type (
	schemaJSON struct {
		// OK: this binary can work on the schema, and nothing is pending.
		OK bool `json:"ok"`
		// Works: this binary can work on the schema.
		Works   bool            `json:"works"`
		Version int64           `json:"version"`
		Known   int64           `json:"known"`
		Oldest  int64           `json:"oldest"`
		Admits  int64           `json:"admits_from"`
		Pending []migrationJSON `json:"pending"`
	}
	migrationJSON struct {
		Version int64  `json:"version"`
		File    string `json:"file"`
	}
)

func printSchema(w io.Writer, o output, s *stock.Schema) error {
	works := s.Check() == nil
	if o == outputJSON {
		pending := []migrationJSON{}
		for _, m := range s.Pending {
			pending = append(pending, migrationJSON(m))
		}
		return json.NewEncoder(w).Encode(schemaJSON{works && len(pending) == 0, works, s.Current, s.Target, s.Oldest, s.AdmitsFrom, pending})
	}
	is := "up to date"
	switch {
	case len(s.Pending) > 0 && works:
		is = fmt.Sprintf("migrations pending: %d; this drawsvc can work on the schema meanwhile", len(s.Pending))
	case len(s.Pending) > 0:
		is = fmt.Sprintf("migrations pending: %d", len(s.Pending))
	case s.Current > s.Target && works:
		is = "newer, and admits this drawsvc"
	case !works:
		is = "newer, and does not admit this drawsvc"
	}
	_, err := fmt.Fprintf(w, "schema version %d, this drawsvc knows %d: %s\n", s.Current, s.Target, is)
	return err
}
