package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/prizefile"
)

func agendaImportCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var output output
	var key keyFlag
	c := &cobra.Command{
		Use:   "import --pool ID FILE.csv",
		Short: "Plan stock moves from a file, whole or not at all",
		Long: `Plan stock moves from a file, whole or not at all. FILE - is the standard
input.

The file is CSV as spreadsheets save it (CSV UTF-8): the header ` + prizefile.AgendaHeader + `
in any order and case, commas or semicolons, and a line for each move, at most
100,000. Times are RFC 3339, of any zone.

The import is one change, with the number of items and a SHA-256 that seals the
schedule. The salt of the seal is printed, and kept nowhere: with it and the
schedule anybody can check the seal afterwards.

With --key the file is imported once: the same key again prints the first result.
The salt follows from the key then, which nobody must guess. Without it the same
file again plans again.`,
		Example: `  drawsvc agenda import --pool spring --key 0193a7f0-5c1e-7d52-9b0e-3f6f1d0c8a11 moments.csv`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	output.flag(c.Flags())
	key.flag(c)
	c.Args = oneFile
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := key.check(c); err != nil {
			return err
		}
		file, closeFile, err := openImport(args[0], env)
		if err != nil {
			return err
		}
		defer closeFile()
		return changeOn(c, &on, by, func(ctx context.Context, scheduler http.Scheduler) error {
			p, err := scheduler.ImportAgenda(ctx, string(pool), file, string(key), string(by))
			if err != nil {
				return ofFile(args[0], err)
			}
			return printPlanned(env.stdout, output, string(pool), &p)
		})
	}
	return c
}

// printPlanned prints what was planned together, and its seal.
func printPlanned(w io.Writer, o output, pool string, p *draw.Planned) error {
	if o == outputJSON {
		return http.WritePlanned(w, p)
	}
	_, err := printf(w, "pool %s: %s planned, from item %d on (version %d)%s\nsealed with sha256 %s\nkeep the salt, which is kept nowhere else: %s\n",
		pool, counted(int64(p.Count), "item"), p.First, p.Version, plannedBefore(p.Replayed), p.Seal.SHA256, p.Seal.Salt)
	return err
}

// plannedBefore is what is said of what was planned under the key before.
func plannedBefore(replayed bool) string {
	if !replayed {
		return ""
	}
	return "; this key was used already, and nothing was planned again"
}

// keyFlag names what is planned, so that it is planned once; "" is no key.
type keyFlag string

func (k *keyFlag) flag(c *cobra.Command) {
	c.Flags().StringVar((*string)(k), "key", "", "its own `KEY`: what has this key is planned once, however often it is asked for")
}

func (k *keyFlag) check(c *cobra.Command) error {
	if !c.Flags().Changed("key") {
		return nil
	}
	if *k == "" {
		return usageError{errors.New("--key must not be empty")}
	}
	return draw.CheckKey(string(*k))
}

func agendaSpreadCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var output output
	var spread draw.Spread
	var from, to string
	var random bool
	var key keyFlag
	c := &cobra.Command{
		Use:   "spread --pool ID --prize ID --units N --from TIME --to TIME (--every 1h | --random)",
		Short: "Plan the units of a prize over a span of time, from its first instant to before its last",
		Example: `  drawsvc agenda spread --pool spring --prize gold --units 240 --from 2026-12-01T00:00:00Z --to 2026-12-11T00:00:00Z --every 1h
  drawsvc agenda spread --pool spring --prize gold --units 24 --from 2026-12-01T00:00:00Z --to 2026-12-25T00:00:00Z --random`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	output.flag(c.Flags())
	f := c.Flags()
	f.StringVar(&spread.PrizeID, "prize", "", "`ID` of the prize")
	f.Int64Var(&spread.Units, "units", 0, "units to release, all together")
	f.StringVar(&from, "from", "", "the `TIME` of the first release, as RFC 3339 has it, of any zone")
	f.StringVar(&to, "to", "", "the `TIME` before which all is released")
	f.DurationVar(&spread.Every, "every", 0, "time between two releases, which get equal shares")
	f.BoolVar(&random, "random", false, "give each unit an instant by chance: a winning moment")
	f.StringVar(&spread.Reason, "reason", "agenda", "why the stock is moved, for the pool's log")
	key.flag(c)
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if err := key.check(c); err != nil {
			return err
		}
		if random == (spread.Every != 0) {
			return usageError{errors.New("give one of --every and --random")}
		}
		if spread.From, err = draw.ParseTime("--from", from); err != nil {
			return err
		}
		if spread.To, err = draw.ParseTime("--to", to); err != nil {
			return err
		}
		// What cannot be spread is refused before anything is asked.
		if _, err := spread.Items(func(int64) int64 { return 0 }); err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, scheduler http.Scheduler) error {
			p, err := scheduler.SpreadAgenda(ctx, string(pool), spread, string(key), string(by))
			if err != nil {
				return err
			}
			return printPlanned(env.stdout, output, string(pool), &p)
		})
	}
	return c
}
