package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func logCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "log --pool ID", "Print the history of a pool, a line of JSON for each award, move and change", ofPool)
	var after int64
	c.Flags().Int64Var(&after, "after", 0, "begin after this `VERSION`")
	return c.does(func([]string) error {
		if after < 0 {
			return setting.AsUsage(errors.New("--after must be 0 or above"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		return on.WriteLog(ctx, string(c.pool), after, env.Stdout)
	})
}

func exportCommand(env setting.Environment) *cobra.Command {
	return newGroup("export", "Write awards, moves, prizes or statements as CSV",
		exportAwardsCommand(env), exportMovesCommand(env), exportPrizesCommand(env), exportStatementsCommand(env))
}

// exported is the command line of an export of entries.
type exported struct {
	*command
	after    int64
	formulas formulas
}

func newExported(env setting.Environment, use, short string) *exported {
	x := &exported{command: newCommand(env, use, short, ofPool)}
	x.Flags().Int64Var(&x.after, "after", 0, "begin after this `VERSION`")
	x.formulas.flag(x.Flags())
	return x
}

func (x *exported) check([]string) error {
	if x.after < 0 {
		return setting.AsUsage(errors.New("--after must be 0 or above"))
	}
	return nil
}

// formulas is how an export writes fields that a spreadsheet would interpret as formulas.
// It implements pflag.Value.
type formulas string

func (f *formulas) flag(flags *pflag.FlagSet) {
	*f = api.FormulasExact
	flags.Var(f, "formulas", "escaped puts an apostrophe before what a spreadsheet takes for a formula; exact changes nothing")
}

func (f *formulas) areEscaped() bool { return *f == api.FormulasEscaped }

// String implements pflag.Value.
func (f *formulas) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *formulas) Type() string { return strings.Join(formulaStyles(), "|") }

// Set implements pflag.Value.
func (f *formulas) Set(s string) error {
	if !slices.Contains(formulaStyles(), s) {
		return errors.New("must be " + strings.Join(formulaStyles(), " or "))
	}
	*f = formulas(s)
	return nil
}

func formulaStyles() []string { return []string{api.FormulasExact, api.FormulasEscaped} }

func exportAwardsCommand(env setting.Environment) *cobra.Command {
	x := newExported(env, "awards --pool ID [--user U] [--prize ID] [--draw KEY] [--win] [--from TIME] [--to TIME]", "Write the awards of a pool as CSV, in order")
	x.Long = `Write the awards of a pool as CSV, in order, up to those that there are when the
command begins. With --user, --prize, --draw, --win, --from or --to only those; a
draw is found at once, all else is searched for in the whole pool.`
	x.Example = `  drawsvc export awards --pool spring >awards.csv
  drawsvc export awards --pool spring --user u1 --formulas escaped`
	var wanted draw.AwardFilter
	f := x.Flags()
	f.StringVar(&wanted.UserID, "user", "", "only awards of this `USER`")
	f.StringVar(&wanted.PrizeID, "prize", "", "only awards of the prize with this `ID`")
	f.StringVar(&wanted.DrawID, "draw", "", "only awards of the draw with this `KEY`")
	f.BoolVar(&wanted.Wins, "win", false, "without losing tickets")
	var from, to string
	f.StringVar(&from, "from", "", "only awards at this `TIME` or later, such as 2026-12-01T00:00:00Z")
	f.StringVar(&to, "to", "", "only awards before this `TIME`")
	return x.does(func([]string) error {
		if err := cmp.Or(x.check(nil), readTimeFlag("from", from, &wanted.From), readTimeFlag("to", to, &wanted.To)); err != nil {
			return err
		}
		for _, name := range []string{"user", "prize", "draw"} {
			if given := f.Lookup(name); given.Changed && given.Value.String() == "" {
				return setting.AsUsage(errors.New("--" + name + " must not be empty"))
			}
		}
		return wanted.Check()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		rows := api.NewAwardRows(env.Stdout, x.formulas.areEscaped())
		return writeRows(ctx, on, x, rows, func(a *api.Award) int64 { return a.Version }, func(after int64) ([]api.Award, *int64, error) {
			page, err := on.Awards(ctx, string(x.pool), &wanted, after)
			return page.Awards, page.Next, err
		})
	})
}

// readTimeFlag reads a flag that is a time, unless it is empty.
func readTimeFlag(name, text string, into *time.Time) (err error) {
	if text == "" {
		return nil
	}
	if *into, err = draw.ParseTime("--"+name, text); err != nil {
		return setting.AsUsage(err)
	}
	return nil
}

func exportMovesCommand(env setting.Environment) *cobra.Command {
	x := newExported(env, "moves --pool ID", "Write the stock moves of a pool as CSV, in order")
	x.Example = `  drawsvc export moves --pool spring >moves.csv`
	return x.does(x.check, func(ctx context.Context, on *api.Client, _ []string) error {
		rows := api.NewMoveRows(env.Stdout, x.formulas.areEscaped())
		return writeRows(ctx, on, x, rows, func(m *api.Move) int64 { return m.Version }, func(after int64) ([]api.Move, *int64, error) {
			page, err := on.Moves(ctx, string(x.pool), after)
			return page.Moves, page.Next, err
		})
	})
}

func exportPrizesCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "prizes --pool ID", "Write the prizes of a pool as CSV, in the form of drawsvc stock import", ofPool)
	c.Long = `Write the prizes of a pool as CSV, in the form of drawsvc stock import. The stock of
a prize is what remains of it, and empty for an endless blank. An import adds it: into
the same pool, change the stock to what is to be added.`
	c.Example = `  drawsvc export prizes --pool spring >prizes.csv`
	var style formulas
	style.flag(c.Flags())
	return c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		found, err := on.Prizes(ctx, string(c.pool))
		if err != nil {
			return err
		}
		rows := api.NewPrizeRows(env.Stdout, style.areEscaped())
		for i := range found {
			rows.Write(&found[i])
		}
		return rows.Flush()
	})
}

// writeRows writes the entries of a pool, page by page, up to the version that the pool
// had when the call began. read returns the page after a version, and the version at
// which the page ends, nil for the last page.
func writeRows[E any](
	ctx context.Context, on *api.Client, x *exported, rows *api.Rows[E], version func(*E) int64, read func(after int64) ([]E, *int64, error),
) error {
	p, err := on.Pool(ctx, string(x.pool))
	if err != nil {
		return err
	}
	for after := x.after; after < p.Version; {
		found, next, err := read(after)
		if err != nil {
			return err
		}
		for i := range found {
			if version(&found[i]) <= p.Version {
				rows.Write(&found[i])
			}
		}
		if err := rows.Flush(); err != nil || next == nil {
			return err
		}
		after = *next
	}
	return rows.Flush() // writes at least the header
}

func exportStatementsCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "statements --pool ID", "Write the daily statements of a pool as CSV, in order", ofPool)
	c.Example = `  drawsvc export statements --pool spring --after 2026-11-30 >december.csv`
	var after string
	c.Flags().StringVar(&after, "after", "", "begin after this `DAY`, such as 2026-11-30")
	return c.does(func([]string) error {
		if after == "" {
			return nil
		}
		return api.CheckDay("--after", after)
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		rows := api.NewStatementRows(env.Stdout)
		for next := &after; next != nil; {
			page, err := on.Statements(ctx, string(c.pool), *next)
			if err != nil {
				return err
			}
			for i := range page.Statements {
				rows.Write(&page.Statements[i])
			}
			if err := rows.Flush(); err != nil {
				return err
			}
			next = page.Next
		}
		return nil
	})
}
