package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/prizefile"
)

func stockCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "stock",
		Short: "Put units into a pool, or take them out",
		Args:  noArguments,
		RunE:  needsSubcommand,
	}
	c.AddCommand(stockAddCommand(env), stockImportCommand(env))
	return c
}

func stockAddCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var by actor
	var wanted draw.Stocking
	c := &cobra.Command{
		Use:     "add --pool ID --prize ID --delta N --reason TEXT",
		Short:   "Change the stock of one prize",
		Example: `  drawsvc stock add --pool spring --prize gold --delta 100 --reason restock --key delivery-4711`,
	}
	on.flag(c, env)
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
		if err := cmp.Or(draw.CheckID("the prize's id", wanted.PrizeID), wanted.Check()); err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, stocker http.Stocker) error {
			m, err := stocker.Stock(ctx, wanted, string(by))
			if err != nil {
				return err
			}
			again := ""
			if m.Replayed {
				again = "; this key was used already, and nothing was moved again"
			}
			_, err = printf(env.stdout, "pool %s, prize %s: %s made %d stocked, %d issued, %d remaining (version %d)%s\n",
				m.PoolID, m.PrizeID, moved(m.Delta), m.Stocked, m.Issued, m.Stocked-m.Issued, m.Version, again)
			return err
		})
	}
	return c
}

func stockImportCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var by actor
	var wanted draw.Import
	c := &cobra.Command{
		Use:   "import --pool ID FILE.csv",
		Short: "Stock a pool from a file, whole or not at all",
		Long: `Stock a pool from a file, whole or not at all, in one transaction. FILE - is
the standard input.

The file is CSV as spreadsheets save it (CSV UTF-8): the header ` + prizefile.Header + `
in any order and case, commas or semicolons, and a line for each prize. A prize
that the pool does not have is added. One that it has gets the stock added to
its own; name, value and kind must be the same, or empty. A line of kind blank is a
losing ticket; without stock it is endless, for rules. A field that holds the
separator or a quote is quoted: gold,"Coin, 24 ""carat""",19.90,10

With --key the file is imported once: the same key again prints the first
result. Without it the same file again stocks again. --dry-run checks
everything, prints what would change, and writes nothing.`,
		Example: `  drawsvc stock import --pool spring --dry-run prizes.csv
  drawsvc stock import --pool spring --reason delivery --key 2f1c6d1e-delivery prizes.csv`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New("name one file, or - for the standard input")
		}
		return nil
	}
	f := c.Flags()
	f.StringVar(&wanted.Reason, "reason", "import", "why, for the pool's log")
	f.StringVar(&wanted.Key, "key", "", "the import's own `KEY`: an import with this key happens once, however often it is asked for")
	f.BoolVar(&wanted.DryRun, "dry-run", false, "print what would change, and write nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
		wanted.PoolID, wanted.Actor = string(pool), string(by)
		if c.Flags().Changed("key") && wanted.Key == "" {
			return usageError{errors.New("--key must not be empty")}
		}
		if err := cmp.Or(by.check(), wanted.Check()); err != nil {
			return err
		}
		file, closeFile, err := openImport(args[0], env)
		if err != nil {
			return err
		}
		defer closeFile()
		return changeOn(c, &on, by, func(ctx context.Context, importer http.Importer) error {
			done, err := importFile(ctx, importer, wanted, file, newProgress(env.stderr, isTerminal(env.stderr)))
			if err != nil {
				return ofFile(args[0], err)
			}
			return printImported(env.stdout, &wanted, &done)
		})
	}
	return c
}

// printImported prints the result of an import, or of its dry run.
func printImported(w io.Writer, wanted *draw.Import, done *draw.Imported) error {
	for _, p := range done.Preview {
		from := "present"
		if p.IsNew {
			from = "new"
		}
		if p.IsEndless {
			_, _ = printf(w, "%s: endless (%s)\n", p.PrizeID, from)
			continue
		}
		_, _ = printf(w, "%s: %s make %d stocked (%s)\n", p.PrizeID, moved(p.Delta), p.Stocked, from)
	}
	if more := done.Added + done.Restocked - len(done.Preview); wanted.DryRun && !done.Replayed && more > 0 {
		_, _ = printf(w, "and %d prizes more\n", more)
	}
	note := ""
	switch {
	case done.Replayed:
		note = "; this key was used already, and nothing was imported again"
	case wanted.DryRun:
		note = "; this was a dry run, and nothing was imported"
	}
	_, err := printf(w, "pool %s: prizes added %d, restocked %d; units put in %d (version %d)%s\n",
		wanted.PoolID, done.Added, done.Restocked, done.Units, done.Version, note)
	return err
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

func importFile(ctx context.Context, importer http.Importer, wanted draw.Import, file io.Reader, p *progress) (draw.Imported, error) {
	defer p.end()
	return importer.Import(ctx, wanted, file, p.at)
}
