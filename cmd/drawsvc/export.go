package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/job"
)

func exportCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write awards, moves or statements as CSV",
		Args:  noArguments,
		RunE:  needsSubcommand,
	}
	c.AddCommand(exportAwardsCommand(env), exportMovesCommand(env), exportStatementsCommand(env))
	return c
}

// exportPage is how many entries are read at once, daysPage how many days.
const (
	exportPage = 1000
	daysPage   = 100
)

// exported are the flags of an export of entries.
type exported struct {
	on       target
	pool     poolName
	after    int64
	formulas formulas
}

func (x *exported) flags(c *cobra.Command, env environment) {
	x.on.flag(c, env)
	x.pool.declare(c, false)
	f := c.Flags()
	f.Int64Var(&x.after, "after", 0, "begin behind this `VERSION`")
	x.formulas = http.FormulasExact
	f.Var(&x.formulas, "formulas", "escaped puts an apostrophe before what a spreadsheet takes for a formula; exact changes nothing")
}

func (x *exported) check() error {
	if x.after < 0 {
		return usageError{errors.New("--after must be 0 or above")}
	}
	return nil
}

func (x *exported) escaped() bool { return x.formulas == http.FormulasEscaped }

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

func formulaStyles() []string { return []string{http.FormulasExact, http.FormulasEscaped} }

// awardFinder finds awards of a pool that can be read.
type awardFinder interface {
	poolFinder
	FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error)
}

func exportAwardsCommand(env environment) *cobra.Command {
	var x exported
	var wanted draw.AwardFilter
	c := &cobra.Command{
		Use:   "awards --pool ID [--user U] [--prize ID] [--draw KEY]",
		Short: "Write the awards of a pool as CSV, in order",
		Long: `Write the awards of a pool as CSV, in order, up to those that there are when the
command begins. With --user, --prize or --draw only those; a draw is found at
once, users and prizes are searched for in the whole pool.`,
		Example: `  drawsvc export awards --pool spring >awards.csv
  drawsvc export awards --pool spring --user u1 --formulas escaped`,
	}
	x.flags(c, env)
	f := c.Flags()
	f.StringVar(&wanted.UserID, "user", "", "only awards of this `USER`")
	f.StringVar(&wanted.PrizeID, "prize", "", "only awards of the prize with this `ID`")
	f.StringVar(&wanted.DrawID, "draw", "", "only awards of the draw with this `KEY`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := x.check(); err != nil {
			return err
		}
		for _, name := range []string{"user", "prize", "draw"} {
			if given := c.Flags().Lookup(name); given.Changed && given.Value.String() == "" {
				return usageError{errors.New("--" + name + " must not be empty")}
			}
		}
		if err := wanted.Check(); err != nil {
			return err
		}
		return readOn(c, &x.on, func(ctx context.Context, awards awardFinder) error {
			rows := http.NewAwardRows(env.stdout, x.escaped())
			return writeRows(ctx, awards, &x, rows, func(a *draw.Award) int64 { return a.Version }, func(after int64) ([]draw.Award, int64, error) {
				return awards.FindAwards(ctx, string(x.pool), wanted, after, exportPage)
			})
		})
	}
	return c
}

// moveReader reads the moves of a pool that can be read.
type moveReader interface {
	poolFinder
	Moves(ctx context.Context, poolID string, after int64, limit int) ([]draw.Move, error)
}

func exportMovesCommand(env environment) *cobra.Command {
	var x exported
	c := &cobra.Command{
		Use:     "moves --pool ID",
		Short:   "Write the stock moves of a pool as CSV, in order",
		Example: `  drawsvc export moves --pool spring >moves.csv`,
	}
	x.flags(c, env)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := x.check(); err != nil {
			return err
		}
		return readOn(c, &x.on, func(ctx context.Context, moves moveReader) error {
			rows := http.NewMoveRows(env.stdout, x.escaped())
			version := func(m *draw.Move) int64 { return m.Version }
			return writeRows(ctx, moves, &x, rows, version, func(after int64) ([]draw.Move, int64, error) {
				found, err := moves.Moves(ctx, string(x.pool), after, exportPage)
				return found, http.Through(found, exportPage, version), err
			})
		})
	}
	return c
}

// writeRows writes the entries of a pool, page by page, up to what it holds when it
// begins. read returns a page behind a version, and up to which one it is complete.
func writeRows[E any](
	ctx context.Context, pools poolFinder, x *exported, rows *http.Rows[E], version func(*E) int64, read func(after int64) ([]E, int64, error),
) error {
	p, err := pools.Pool(ctx, string(x.pool))
	if err != nil {
		return err
	}
	for after := x.after; after < p.Version; {
		found, through, err := read(after)
		if err != nil {
			return err
		}
		for i := range found {
			if version(&found[i]) <= p.Version {
				rows.Write(&found[i])
			}
		}
		if err := rows.Flush(); err != nil {
			return err
		}
		after = through
	}
	return rows.Flush() // the header, where nothing else was written
}

func exportStatementsCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var after string
	c := &cobra.Command{
		Use:     "statements --pool ID",
		Short:   "Write the daily statements of a pool as CSV, in order",
		Example: `  drawsvc export statements --pool spring --after 2026-11-30 >december.csv`,
	}
	on.flag(c, env)
	pool.declare(c, false)
	c.Flags().StringVar(&after, "after", "", "begin behind this `DAY`, such as 2026-11-30")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if after != "" {
			if err := http.CheckDay("--after", after); err != nil {
				return err
			}
		}
		return readOn(c, &on, func(ctx context.Context, statements http.Statements) error {
			return writeStatements(ctx, statements, string(pool), after, env.stdout)
		})
	}
	return c
}

func writeStatements(ctx context.Context, statements http.Statements, pool, after string, out io.Writer) error {
	rows := http.NewStatementRows(out)
	for {
		lines, err := statements.Statements(ctx, pool, after, daysPage)
		if err != nil {
			return err
		}
		for i := range lines {
			rows.Write(&lines[i])
		}
		if err := rows.Flush(); err != nil || daysOf(lines) < daysPage {
			return err
		}
		after = lines[len(lines)-1].Day
	}
}

// daysOf counts the days of lines, which are in order.
func daysOf(lines []job.Line) (days int) {
	for i := range lines {
		if i == 0 || lines[i].Day != lines[i-1].Day {
			days++
		}
	}
	return days
}
