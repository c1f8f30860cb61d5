package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

func codesCommand(env setting.Environment) *cobra.Command {
	return newGroup("codes", "Import, count and drop the codes of a prize",
		codesImportCommand(env), codesShowCommand(env), codesDropCommand(env), codesExportCommand(env), codesResealCommand(env))
}

// codesOf are the flags of a command about the codes of a prize.
type codesOf struct {
	prize string
	keys  setting.SealKeysFlag
}

func (o *codesOf) flag(c *command) {
	c.Flags().StringVar(&o.prize, "prize", "", "`ID` of the prize")
	o.keys.Flag(c.Flags())
}

func (o *codesOf) check(c *command) error {
	if err := draw.CheckID("the prize's id", o.prize); err != nil {
		return setting.AsUsage(err)
	}
	return c.on.takeSealKeys(&o.keys)
}

func codesImportCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "import --pool ID --prize ID FILE", "Import the codes of a prize, and stock them", acting, ofPool, printing)
	c.Long = `Import the codes of a prize, and stock them. FILE - is the standard input.

The file has one code a line: 1 to 256 printable ASCII characters without comma,
semicolon and quotes. A first line "code" is a header. Unit k of the prize gets the
code at place k, in the order of the file. A code that the database has already is a
bad line: --skip passes over such lines.

Codes are sealed under the first key of --seal-keys. The salt of the list's SHA-256
is printed, and kept nowhere: with it and the file anybody can check the seal.

With --key the file is imported once: the same key again prints the first result,
and goes on where an import was cut off. --reserve leaves the codes without stock.`
	c.Example = `  drawsvc codes import --pool spring --prize card --seal-keys seal.keys --key card-1 codes.txt`
	c.Args = oneFile
	var of codesOf
	var wanted draw.CodeImport
	of.flag(c)
	f := c.Flags()
	f.StringVar(&wanted.Key, "key", "", "the import's own `KEY`: an import with this key happens once, and goes on where it was cut off")
	f.BoolVar(&wanted.Reserve, "reserve", false, "leave the codes in the reserve: they get stock later")
	f.BoolVar(&wanted.Skip, "skip", false, "pass over codes that are there already")
	f.BoolVar(&wanted.DryRun, "dry-run", false, "check and count everything, and write nothing")
	var file io.Reader
	bar := newProgress(env.Stderr, setting.IsTerminal(env.Stderr))
	c.on.local.Progress = bar.at
	return c.does(func(args []string) (err error) {
		wanted.PoolID, wanted.PrizeID, wanted.Actor = string(c.pool), of.prize, string(c.by)
		if f.Changed("key") && wanted.Key == "" {
			return setting.AsUsage(errors.New("--key must not be empty"))
		}
		if err := cmp.Or(c.by.check(), of.check(c), wanted.Check()); err != nil {
			return err
		}
		file, err = c.openFile(args[0])
		return err
	}, func(ctx context.Context, on *api.Client, args []string) error {
		bar.begun = time.Now()
		done, err := on.ImportCodes(ctx, &wanted, file)
		bar.end()
		if err != nil {
			return ofFile(args[0], err)
		}
		return printImportedCodes(env.Stdout, c.output, &done)
	})
}

func printImportedCodes(w io.Writer, o output, done *api.ImportedCodes) error {
	if o == outputJSON {
		return api.WriteLine(w, done)
	}
	note := ""
	switch {
	case done.Replayed:
		note = "; this key was used already, and nothing was imported again"
	case done.DryRun:
		note = "; this was a dry run, and nothing was imported"
	}
	_, err := setting.Printf(w, "pool %s, prize %s: codes added %d, skipped %d; places %d, stocked %d, reserve %d (version %d)%s\n",
		done.Pool, done.Prize, done.Added, done.Skipped, done.Places, done.Stocked, done.Reserve, done.Version, note)
	if err == nil && done.Salt != nil && done.SHA256 != nil {
		_, err = setting.Printf(w, "sealed with sha256 %s\nkeep the salt, which is kept nowhere else: %s\n", *done.SHA256, *done.Salt)
	}
	return err
}

func codesShowCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "show --pool ID --prize ID", "Count the codes of a prize; no code is shown", ofPool, printing)
	var of codesOf
	of.flag(c)
	return c.does(func([]string) error { return of.check(c) }, func(ctx context.Context, on *api.Client, _ []string) error {
		counts, err := on.CodeCounts(ctx, string(c.pool), of.prize)
		if err != nil {
			return err
		}
		return printCodeCounts(env.Stdout, c.output, &counts)
	})
}

func codesDropCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "drop --pool ID --prize ID --count N", "Remove the last codes of the reserve", acting, ofPool, printing)
	var of codesOf
	var count int64
	of.flag(c)
	c.Flags().Int64Var(&count, "count", 0, "codes to remove, the last ones of the reserve")
	return c.does(func([]string) error {
		if count < 1 {
			return setting.AsUsage(errors.New("--count must be 1 or more"))
		}
		return of.check(c)
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		counts, err := on.DropCodes(ctx, string(c.pool), of.prize, count)
		if err != nil {
			return err
		}
		return printCodeCounts(env.Stdout, c.output, &counts)
	})
}

func printCodeCounts(w io.Writer, o output, c *api.CodeCounts) error {
	if o == outputJSON {
		return api.WriteLine(w, c)
	}
	_, err := setting.Printf(w, "pool %s, prize %s: places %d, stocked %d, issued %d, reserve %d\n", c.Pool, c.Prize, c.Places, c.Stocked, c.Issued, c.Reserve)
	for _, id := range slices.Sorted(maps.Keys(c.Keys)) {
		if err == nil {
			_, err = setting.Printf(w, "sealed under %s: %d\n", id, c.Keys[id])
		}
	}
	return err
}

// The states of codes in an export.
const (
	codeReserve  = "reserve"
	codeStocked  = "stocked"
	codeWon      = "won"
	codeReplaced = "replaced"
)

// onCodes is a command on codes that works only on the database.
type onCodes struct {
	*cobra.Command
	database setting.Database
	keys     setting.SealKeysFlag
}

func newOnCodes(env setting.Environment, use, short string) *onCodes {
	c := &onCodes{Command: &cobra.Command{Use: use, Short: short, Args: noArguments}}
	c.database.Flag(c.Command, env)
	c.keys.Flag(c.Flags())
	return c
}

// with runs fn on the database, with the seal keys that the flag names.
func (c *onCodes) with(readOnly bool, fn func(context.Context, *stock.Store) error) error {
	keys, err := c.keys.Read()
	if err != nil {
		return err
	}
	return c.database.With(c.Command, stock.Options{ReadOnly: readOnly, SealKeys: keys}, fn)
}

func codesExportCommand(env setting.Environment) *cobra.Command {
	c := newOnCodes(env, "export --pool ID [--issued]", "Print the codes of a pool as CSV, on the database only")
	c.Long = `Print the codes of a pool as CSV, on the database only: prize, place, state,
version, code. The state is reserve, stocked, won or replaced; version is that of
the award. Whoever has the output has the codes.`
	var pool poolName
	var issued bool
	pool.declare(c.Command, false)
	c.Flags().BoolVar(&issued, "issued", false, "print only the codes of awards: not those that were replaced")
	c.RunE = func(*cobra.Command, []string) error {
		return c.with(true, func(ctx context.Context, store *stock.Store) error {
			rows := csv.NewWriter(env.Stdout)
			err := rows.Write([]string{"prize", "place", "state", "version", "code"})
			if err == nil {
				err = store.EachCode(ctx, string(pool), issued, func(g *draw.GivenCode) error { return rows.Write(givenRow(g)) })
			}
			rows.Flush()
			return cmp.Or(err, rows.Error())
		})
	}
	return c.Command
}

func givenRow(g *draw.GivenCode) []string {
	state, version := codeReserve, ""
	switch {
	case g.IsReplaced():
		state = codeReplaced
	case g.Version != 0:
		state, version = codeWon, strconv.FormatInt(g.Version, 10)
	case g.IsStocked:
		state = codeStocked
	}
	return []string{g.PrizeID, strconv.FormatInt(g.Place, 10), state, version, g.Code}
}

func codesResealCommand(env setting.Environment) *cobra.Command {
	c := newOnCodes(env, "reseal", "Seal all codes under the first key of the file, on the database only")
	c.Long = `Seal all codes under the first key of the file, on the database only. Draws go on.
Put the new first line on every instance before, and remove the former line when
drawsvc codes show counts no code under it.`
	c.RunE = func(*cobra.Command, []string) error {
		return c.with(false, func(ctx context.Context, store *stock.Store) error {
			n, err := store.ResealCodes(ctx, nil)
			if err != nil {
				return err
			}
			_, err = setting.Printf(env.Stdout, "%s sealed again\n", counted(n, "code"))
			return err
		})
	}
	return c.Command
}

func sealKeyCommand(env setting.Environment) *cobra.Command {
	var id string
	c := &cobra.Command{
		Use:     "new",
		Short:   "Print a line for the file of --seal-keys, with a new random key",
		Example: `  drawsvc seal-key new >> seal.keys`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			line, err := seal.NewLine(id)
			if err != nil {
				return setting.AsUsage(err)
			}
			_, err = setting.Printf(env.Stdout, "%s\n", line)
			return err
		},
	}
	c.Flags().StringVar(&id, "id", "k"+time.Now().UTC().Format("20060102150405"), "`ID` of the key, another one for each key")
	c.Flags().Lookup("id").DefValue = "k and the time" // help and manual show this as the default
	return newGroup("seal-key", "Create keys that seal codes", c)
}
