package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/db/migrations"
	"drawsvc/internal/stock"
)

// database is the --database flag of every command that needs one.
type database struct {
	url    secret
	schema migrations.Set
	lookUp func(name string) (string, bool)
	stderr io.Writer
}

func (d *database) flag(c *cobra.Command, env environment) {
	d.schema, d.lookUp, d.stderr = env.schema, env.lookUp, env.stderr
	d.url.flag(c.Flags(), "database", "sqlite:drawsvc.db",
		"`URL` of the database: sqlite:PATH, postgres://… or mysql://USER:PASS@HOST:PORT/DB")
}

// openMax is how soon a server that does not answer is given up.
const openMax = 10 * time.Second

// read returns the URL. A command that has no --server must not take the usual
// database where the environment names a service: it would work on an empty one,
// and seem to have worked on the service's.
func (d *database) read(c *cobra.Command) (string, error) {
	flags := c.Flags()
	_, isSet := d.lookUp(variable(serverFlag))
	if isSet && flags.Lookup(serverFlag) == nil && c.Name() != "serve" && sourceOf(flags, databaseFlag, databaseFlag+fileSuffix) == byNobody {
		return "", usageError{fmt.Errorf("%s is set, and %s works on the database alone: name it with --database", variable(serverFlag), strings.TrimPrefix(c.CommandPath(), "drawsvc "))}
	}
	return d.url.readURL(flags)
}

// check refuses what cannot be a database, before anything is said of it or made.
func (d *database) check(c *cobra.Command) error {
	url, err := d.read(c)
	if err != nil {
		return err
	}
	return stock.CheckURL(url)
}

// open opens the database without a check of its schema.
func (d *database) open(ctx context.Context, c *cobra.Command, o stock.Options) (*stock.Store, error) {
	url, err := d.read(c)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(url, "sqlite:") { // a file may have to be examined, which takes its time
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, openMax)
		defer cancel()
	}
	o.Migrations = d.schema
	if o.Log == nil { // a command says itself what it has done
		o.Log = slog.New(slog.NewTextHandler(d.stderr, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: withoutTime}))
	}
	return stock.Open(ctx, url, o)
}

// opened runs fn on the open database, whatever its schema, and closes it.
func (d *database) opened(c *cobra.Command, o stock.Options, fn func(context.Context, *stock.Store) error) (err error) {
	store, err := d.open(c.Context(), c, o)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	return fn(c.Context(), store)
}

// with is opened for a schema that this binary can work on.
func (d *database) with(c *cobra.Command, o stock.Options, fn func(context.Context, *stock.Store) error) error {
	return d.opened(c, o, func(ctx context.Context, store *stock.Store) error {
		if err := prepare(ctx, store, false, o.ReadOnly); err != nil {
			return err
		}
		return fn(ctx, store)
	})
}

// prepare makes sure that this binary can work on the schema. An embedded
// database is migrated by itself, a server only when asked.
func prepare(ctx context.Context, store *stock.Store, migrate, readOnly bool) error {
	if (migrate || store.Dialect() == "sqlite") && !readOnly {
		return store.Migrate(ctx)
	}
	schema, err := store.Schema(ctx)
	if err != nil {
		return err
	}
	return schema.Check()
}

// closing closes the store; its error counts when there is no other.
func closing(store *stock.Store, err *error) {
	if e := store.Close(); *err == nil {
		*err = e
	}
}
