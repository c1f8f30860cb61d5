package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/setting"
)

func stockCommand(env setting.Environment) *cobra.Command {
	return newGroup("stock", "Put units into a pool, or take them out", stockAddCommand(env), stockImportCommand(env))
}

func stockAddCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "add --pool ID --prize ID --delta N --reason TEXT", "Change the stock of one prize", acting, ofPool)
	c.Example = `  drawsvc stock add --pool spring --prize gold --delta 100 --reason restock --key delivery-4711`
	var wanted draw.Stocking
	f := c.Flags()
	f.StringVar(&wanted.PrizeID, "prize", "", "`ID` of the prize")
	f.Int64Var(&wanted.Delta, "delta", 0, "units to add; negative to withdraw, never below what is issued")
	f.StringVar(&wanted.Reason, "reason", "", "why, for the pool's log")
	f.StringVar(&wanted.Key, "key", "", "the move's own `KEY`: a move with this key happens once, however often it is asked for")
	return c.does(func([]string) error {
		if f.Changed("key") && wanted.Key == "" {
			return setting.AsUsage(errors.New("--key must not be empty"))
		}
		wanted.PoolID = string(c.pool)
		return cmp.Or(draw.CheckID("the prize's id", wanted.PrizeID), wanted.Check())
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		m, err := on.Stock(ctx, wanted.PoolID, wanted.PrizeID, wanted.Key, api.Stocking{Delta: wanted.Delta, Reason: wanted.Reason})
		if err != nil {
			return err
		}
		again := ""
		if m.Replayed {
			again = "; this key was used already, and nothing was moved again"
		}
		_, err = setting.Printf(env.Stdout, "pool %s, prize %s: %s; now %d stocked, %d issued, %d remaining (version %d)%s\n",
			m.Pool, m.Prize, moved(m.Delta), m.Stocked, m.Issued, m.Remaining, m.Version, again)
		return err
	})
}

func stockImportCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "import --pool ID FILE.csv", "Stock a pool from a file, all or nothing", acting, ofPool)
	c.Long = `Stock a pool from a file, all or nothing, in one transaction. FILE - is
the standard input.

The file is CSV as spreadsheets save it: the header ` + prizefile.Header + `
in any order and case, and a line for each prize. The columns may have German,
French or Spanish names, and be separated by commas, semicolons or tabs. With the
last two, values may have a decimal comma. The text is UTF-8 or UTF-16. Any other
text is read as Windows-1252, and the command says so: check the names. A prize
that the pool does not have is added. One that it has gets the stock added to
its own; name, value and kind must be the same, or empty. A line of kind blank is a
losing ticket; without stock it is endless, for rules. A field that holds the
separator or a quote is quoted: gold,"Coin, 24 ""carat""",19.90,10

With --key the file is imported once: the same key again prints the first
result. Without it the same file again stocks again. --dry-run checks
everything, prints what would change, and writes nothing.`
	c.Example = `  drawsvc stock import --pool spring --dry-run prizes.csv
  drawsvc stock import --pool spring --reason delivery --key 2f1c6d1e-delivery prizes.csv`
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New("name one file, or - for the standard input")
		}
		return nil
	}
	var wanted draw.Import
	f := c.Flags()
	f.StringVar(&wanted.Reason, "reason", "import", "why, for the pool's log")
	f.StringVar(&wanted.Key, "key", "", "the import's own `KEY`: an import with this key happens once, however often it is asked for")
	f.BoolVar(&wanted.DryRun, "dry-run", false, "print what would change, and write nothing")
	var file io.Reader
	bar := newProgress(env.Stderr, setting.IsTerminal(env.Stderr))
	c.on.local.Progress = bar.at
	return c.does(func(args []string) (err error) {
		wanted.PoolID, wanted.Actor = string(c.pool), string(c.by)
		if f.Changed("key") && wanted.Key == "" {
			return setting.AsUsage(errors.New("--key must not be empty"))
		}
		if err := cmp.Or(c.by.check(), wanted.Check()); err != nil {
			return err
		}
		file, err = c.openFile(args[0])
		return err
	}, func(ctx context.Context, on *api.Client, args []string) error {
		bar.begun = time.Now()
		done, err := on.Import(ctx, &wanted, file)
		bar.end()
		if err != nil {
			return ofFile(args[0], err)
		}
		return printImported(env.Stdout, &wanted, &done)
	})
}

// printImported prints the result of an import, or of its dry run.
func printImported(w io.Writer, wanted *draw.Import, done *api.Imported) error {
	for _, p := range done.Prizes {
		from := "present"
		if p.New {
			from = "new"
		}
		if p.Delta == nil || p.Stocked == nil {
			_, _ = setting.Printf(w, "%s: %s; endless (%s)\n", p.ID, p.Name, from)
			continue
		}
		_, _ = setting.Printf(w, "%s: %s, value %s; %s make %d stocked (%s)\n", p.ID, p.Name, p.Value, moved(*p.Delta), *p.Stocked, from)
	}
	if more := done.Added + done.Restocked - len(done.Prizes); wanted.DryRun && !done.Replayed && more > 0 {
		_, _ = setting.Printf(w, "and %d prizes more\n", more)
	}
	if done.Value != nil && done.StockValue != nil {
		_, _ = setting.Printf(w, "the units are worth %s; all remaining units of the pool would then be worth %s\n", *done.Value, *done.StockValue)
	}
	note := ""
	switch {
	case done.Replayed:
		note = "; this key was used already, and nothing was imported again"
	case wanted.DryRun:
		note = "; this was a dry run, and nothing was imported"
	}
	_, err := setting.Printf(w, "pool %s: prizes added %d, restocked %d; units put in %d (version %d)%s\n",
		wanted.PoolID, done.Added, done.Restocked, done.Units, done.Version, note)
	return cmp.Or(err, printEncoding(w, done.Encoding))
}

// printEncoding prints a note if the encoding of a file was guessed.
func printEncoding(w io.Writer, encoding draw.Encoding) error {
	if encoding != draw.EncodingWindows1252 {
		return nil
	}
	_, err := setting.Printf(w, "the file is not UTF-8 and was read as Windows-1252: check its letters\n")
	return err
}
