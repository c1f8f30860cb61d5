package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"drawsvc/internal/stock"
)

func migrateCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to date, or say where it stands",
		Args:  cobra.NoArgs,
		RunE:  needsSubcommand,
	}
	c.AddCommand(migrateUpCommand(env), migrateStatusCommand(env))
	return c
}

func migrateUpCommand(env environment) *cobra.Command {
	var db database
	c := &cobra.Command{
		Use:   "up",
		Short: "Bring the schema up to date; safe when several do so at once",
		Args:  cobra.NoArgs,
	}
	db.flag(c)
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		store, err := db.open(c.Context(), c, stock.Options{})
		if err != nil {
			return err
		}
		defer closing(store, &err)
		if err := store.Migrate(c.Context()); err != nil {
			return err
		}
		return printSchema(c, env, store)
	}
	return c
}

func migrateStatusCommand(env environment) *cobra.Command {
	var db database
	c := &cobra.Command{
		Use:   "status",
		Short: "Say which version the schema has and which this binary needs",
		Args:  cobra.NoArgs,
	}
	db.flag(c)
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		store, err := db.open(c.Context(), c, stock.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer closing(store, &err)
		return printSchema(c, env, store)
	}
	return c
}

func printSchema(c *cobra.Command, env environment, store *stock.Store) error {
	schema, err := store.Schema(c.Context())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "schema version %d, this drawsvc needs %d\n", schema.Current, schema.Target)
	return err
}
