package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/stock"
)

func stockCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "stock",
		Short: "Put units into a pool, or take them out, straight on the database",
		Args:  cobra.NoArgs,
		RunE:  needsSubcommand,
	}
	c.AddCommand(stockAddCommand(env), stockImportCommand(env))
	return c
}

func stockAddCommand(env environment) *cobra.Command {
	var db database
	var pool poolName
	var by actor
	var wanted draw.Stocking
	c := &cobra.Command{
		Use:     "add --pool ID --prize ID --delta N --reason TEXT",
		Short:   "Change the stock of one prize",
		Example: `  drawsvc stock add --pool spring --prize gold --delta 100 --reason restock --key delivery-4711`,
	}
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	f := c.Flags()
	f.StringVar(&wanted.PrizeID, "prize", "", "`ID` of the prize")
	f.Int64Var(&wanted.Delta, "delta", 0, "units to add; negative to withdraw, never below what is issued")
	f.StringVar(&wanted.Reason, "reason", "", "why, for the pool's log")
	f.StringVar(&wanted.Key, "key", "", "the move's own `KEY`: a move with this key happens once, however often it is asked for")
	c.RunE = func(c *cobra.Command, _ []string) error {
		wanted.PoolID = string(pool)
		if c.Flags().Changed("key") && wanted.Key == "" {
			return usageError{errors.New("--key must not be empty")}
		}
		for _, err := range []error{pool.check(), draw.CheckID("the prize's id", wanted.PrizeID), wanted.Check()} {
			if err != nil {
				return err
			}
		}
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			m, err := store.Stock(ctx, wanted, string(by))
			if err != nil {
				return err
			}
			again := ""
			if m.Replayed {
				again = "; this key was used already, and nothing was moved again"
			}
			_, err = fmt.Fprintf(env.stdout, "pool %s, prize %s: %+d units made %d stocked, %d issued, %d remaining (version %d)%s\n",
				m.PoolID, m.PrizeID, m.Delta, m.Stocked, m.Issued, m.Stocked-m.Issued, m.Version, again)
			return err
		})
	}
	return c
}

func stockImportCommand(env environment) *cobra.Command {
	var db database
	var pool poolName
	var by actor
	var reason string
	c := &cobra.Command{
		Use:   "import --pool ID FILE.csv",
		Short: "Stock a pool from a file, whole or not at all",
		Long: `Stock a pool from a file, whole or not at all, in one transaction. FILE - is
the standard input.

The file is UTF-8 text with the header ` + prizefile.Header + ` and a line for each
prize. A prize that the pool does not have is added. One that it has gets the
stock added to its own; name and value must be the same, or empty. A field that
holds a comma or a quote is quoted: gold,"Coin, 24 ""carat""",19.90,10

An import has no key: the same file again stocks again. Whether it went through
shows in the exit code, and by the moves in the pool's log, which carry the
reason.`,
		Example: `  drawsvc stock import --pool spring --reason delivery-4711 prizes.csv`,
	}
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New("name one file, or - for the standard input")
		}
		return nil
	}
	c.Flags().StringVar(&reason, "reason", "import", "why, for the pool's log")
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, err := range []error{pool.check(), draw.CheckReason(reason)} {
			if err != nil {
				return err
			}
		}
		file, closeFile, err := openImport(args[0], env)
		if err != nil {
			return err
		}
		defer closeFile()
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			options := stock.ImportOptions{Reason: reason, Actor: string(by)}
			done, err := importFile(ctx, store, string(pool), file, options, newProgress(env.stderr, isTerminal(env.stderr)))
			if draw.CodeOf(err) == draw.CodeInvalidRequest {
				// The file's fault, not the command line's: exit code 1.
				return errors.New(args[0] + ": " + message(err))
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "pool %s: prizes added %d, restocked %d; units put in %d (version %d)\n",
				pool, done.Added, done.Restocked, done.Units, done.Version)
			return err
		})
	}
	return c
}

// openImport opens the file before the database, so that a wrong name touches
// nothing.
func openImport(name string, env environment) (io.Reader, func(), error) {
	if name == "-" {
		return env.stdin, func() {}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { _ = file.Close() }, nil // was only read
}

func importFile(ctx context.Context, store *stock.Store, poolID string, file io.Reader, o stock.ImportOptions, p *progress) (stock.Imported, error) {
	defer p.end()
	o.Progress = p.at
	return store.Import(ctx, poolID, file, o)
}
