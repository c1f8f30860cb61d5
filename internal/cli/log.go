package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func logCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "log --pool ID", "Print the history of a pool, a line of JSON for each award, move and change", ofPool)
	var after int64
	c.Flags().Int64Var(&after, "after", 0, "begin behind this `VERSION`")
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
	return newGroup("export", "Write awards, moves or statements as CSV",
		exportAwardsCommand(env), exportMovesCommand(env), exportStatementsCommand(env))
}

// exported is an export of entries, with its flags.
type exported struct {
	*command
	after    int64
	formulas formulas
}

func newExported(env setting.Environment, use, short string) *exported {
	x := &exported{command: newCommand(env, use, short, ofPool), formulas: api.FormulasExact}
	f := x.Flags()
	f.Int64Var(&x.after, "after", 0, "begin behind this `VERSION`")
	f.Var(&x.formulas, "formulas", "escaped puts an apostrophe before what a spreadsheet takes for a formula; exact changes nothing")
	return x
}

func (x *exported) check([]string) error {
	if x.after < 0 {
		return setting.AsUsage(errors.New("--after must be 0 or above"))
	}
	return nil
}

func (x *exported) escaped() bool { return x.formulas == api.FormulasEscaped }

// formulas is how fields are written that a spreadsheet takes for formulas. It
// implements pflag.Value.
type formulas string

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
	x := newExported(env, "awards --pool ID [--user U] [--prize ID] [--draw KEY]", "Write the awards of a pool as CSV, in order")
	x.Long = `Write the awards of a pool as CSV, in order, up to those that there are when the
command begins. With --user, --prize or --draw only those; a draw is found at
once, users and prizes are searched for in the whole pool.`
	x.Example = `  drawsvc export awards --pool spring >awards.csv
  drawsvc export awards --pool spring --user u1 --formulas escaped`
	var wanted draw.AwardFilter
	f := x.Flags()
	f.StringVar(&wanted.UserID, "user", "", "only awards of this `USER`")
	f.StringVar(&wanted.PrizeID, "prize", "", "only awards of the prize with this `ID`")
	f.StringVar(&wanted.DrawID, "draw", "", "only awards of the draw with this `KEY`")
	return x.does(func([]string) error {
		if err := x.check(nil); err != nil {
			return err
		}
		for _, name := range []string{"user", "prize", "draw"} {
			if given := f.Lookup(name); given.Changed && given.Value.String() == "" {
				return setting.AsUsage(errors.New("--" + name + " must not be empty"))
			}
		}
		return wanted.Check()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		rows := api.NewAwardRows(env.Stdout, x.escaped())
		return writeRows(ctx, on, x, rows, func(a *api.Award) int64 { return a.Version }, func(after int64) ([]api.Award, *int64, error) {
			page, err := on.Awards(ctx, string(x.pool), &wanted, after)
			return page.Awards, page.Next, err
		})
	})
}

func exportMovesCommand(env setting.Environment) *cobra.Command {
	x := newExported(env, "moves --pool ID", "Write the stock moves of a pool as CSV, in order")
	x.Example = `  drawsvc export moves --pool spring >moves.csv`
	return x.does(x.check, func(ctx context.Context, on *api.Client, _ []string) error {
		rows := api.NewMoveRows(env.Stdout, x.escaped())
		return writeRows(ctx, on, x, rows, func(m *api.Move) int64 { return m.Version }, func(after int64) ([]api.Move, *int64, error) {
			page, err := on.Moves(ctx, string(x.pool), after)
			return page.Moves, page.Next, err
		})
	})
}

// writeRows writes the entries of a pool, page by page, up to what it holds when it
// begins. read returns the page after a version, and the version that the next page is
// after, nil for no more.
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
	return rows.Flush() // the header, where nothing else was written
}

func exportStatementsCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "statements --pool ID", "Write the daily statements of a pool as CSV, in order", ofPool)
	c.Example = `  drawsvc export statements --pool spring --after 2026-11-30 >december.csv`
	var after string
	c.Flags().StringVar(&after, "after", "", "begin behind this `DAY`, such as 2026-11-30")
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
