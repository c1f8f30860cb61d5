package setting

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

// Database is the --database flag, which many commands have.
type Database struct {
	URL    Secret
	Schema migrations.Set
	// Login has the user and password from the file of the URL. It is set by Open, and nil
	// without such a file.
	Login  *Login
	lookUp func(name string) (string, bool)
	Stderr io.Writer
}

// Flag declares --database and --database-file.
func (d *Database) Flag(c *cobra.Command, env Environment) {
	d.Schema, d.lookUp, d.Stderr = env.Schema, env.LookUp, env.Stderr
	d.URL.Flag(c.Flags(), "database", "sqlite:drawsvc.db",
		"`URL` of the database: sqlite:PATH, postgres://… or mysql://USER:PASS@HOST:PORT/DB")
}

// openMax is the maximum time for opening a database server.
const openMax = 10 * time.Second

// Read returns the URL. A command without --server must not use the default database if
// the environment names a service: it would work on an empty database, although the
// user means the service's database.
func (d *Database) Read(c *cobra.Command) (string, error) {
	flags := c.Flags()
	_, isSet := d.lookUp(Variable(ServerFlag))
	if isSet && flags.Lookup(ServerFlag) == nil && c.Name() != "serve" && SourceOf(flags, DatabaseFlag, DatabaseFlag+FileSuffix) == ByNobody {
		return "", AsUsage(fmt.Errorf("%s is set, and %s works only on the database: name it with --database", Variable(ServerFlag), strings.TrimPrefix(c.CommandPath(), "drawsvc ")))
	}
	return d.URL.ReadURL(flags)
}

// Check returns an error, before anything is printed or created, unless the URL has the
// form of a database's URL.
func (d *Database) Check(c *cobra.Command) error {
	url, err := d.Read(c)
	if err != nil {
		return err
	}
	return stock.CheckURL(url)
}

// Open opens the database without checking its schema.
func (d *Database) Open(ctx context.Context, c *cobra.Command, o stock.Options) (*stock.Store, error) {
	url, err := d.Read(c)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(url, "sqlite:") { // an embedded database has no limit, because its file may have to be examined
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, openMax)
		defer cancel()
	}
	o.Migrations = d.Schema
	if d.URL.File != "" {
		d.Login = &Login{path: d.URL.File, url: url}
		o.Login = d.Login.next
	}
	if o.Log == nil { // a command has its own output
		o.Log = slog.New(slog.NewTextHandler(d.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: WithoutTime}))
	}
	return stock.Open(ctx, url, o)
}

// Opened opens the database without checking its schema, runs fn on it, and closes it.
func (d *Database) Opened(c *cobra.Command, o stock.Options, fn func(context.Context, *stock.Store) error) (err error) {
	store, err := d.Open(c.Context(), c, o)
	if err != nil {
		return err
	}
	defer closeStore(store, &err)
	return fn(c.Context(), store)
}

// With is like Opened, but returns an error unless this binary can use the schema.
func (d *Database) With(c *cobra.Command, o stock.Options, fn func(context.Context, *stock.Store) error) error {
	return d.Opened(c, o, func(ctx context.Context, store *stock.Store) error {
		if err := Prepare(ctx, store, false, o.ReadOnly); err != nil {
			return err
		}
		return fn(ctx, store)
	})
}

// Prepare makes sure that this binary can use the schema. An embedded database is
// migrated automatically, a server only on request.
func Prepare(ctx context.Context, store *stock.Store, migrate, readOnly bool) error {
	if (migrate || store.Dialect() == "sqlite") && !readOnly {
		return store.Migrate(ctx)
	}
	schema, err := store.Schema(ctx)
	if err != nil {
		return err
	}
	return schema.Check()
}

// closeStore closes the store, and stores the error of closing in *err if that is nil.
func closeStore(store *stock.Store, err *error) {
	if e := store.Close(); *err == nil {
		*err = e
	}
}
