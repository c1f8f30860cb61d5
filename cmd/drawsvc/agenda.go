package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

func agendaCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "agenda",
		Short: "Plan what a pool does at an instant",
		Args:  cobra.NoArgs,
		RunE:  needsSubcommand,
	}
	c.AddCommand(agendaAddCommand(env), agendaImportCommand(env), agendaSpreadCommand(env), agendaListCommand(env), agendaRemoveCommand(env))
	return c
}

// newAgendaItem is what the flags of agenda add say of an item.
type newAgendaItem struct {
	at, state, rules string
	stock            draw.Stocking
}

func (n *newAgendaItem) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&n.at, "at", "", "the `TIME`, as RFC 3339 has it, of any zone")
	f.StringVar(&n.state, "state", "", "open, paused or closed")
	f.StringVar(&n.rules, "rules", "", "`FILE` of the rules to be put in force, - for the standard input")
	f.StringVar(&n.stock.PrizeID, "prize", "", "`ID` of the prize whose stock is moved")
	f.Int64Var(&n.stock.Delta, "delta", 0, "units to add; negative to withdraw")
	f.StringVar(&n.stock.Reason, "reason", "", "why the stock is moved, for the pool's log")
}

func (n *newAgendaItem) item(c *cobra.Command, env environment) (i draw.Item, err error) {
	isStock := c.Flags().Changed("prize") || c.Flags().Changed("delta") || c.Flags().Changed("reason")
	if i.At, err = draw.ParseTime("--at", n.at); err != nil {
		return i, err
	}
	switch {
	case n.state != "" && n.rules == "" && !isStock:
		i.Kind, i.State = draw.ItemState, draw.State(n.state)
	case n.state == "" && n.rules != "" && !isStock:
		i.Kind = draw.ItemRules
		if i.Rules, err = readRules(n.rules, env); err != nil {
			return i, err
		}
	case n.state == "" && n.rules == "" && isStock:
		i.Kind, i.Stock = draw.ItemStock, n.stock
	default:
		return i, usageError{errors.New("give one of --state, --rules, or --prize with --delta and --reason")}
	}
	return i, i.Check()
}

func agendaAddCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var output output
	var wanted newAgendaItem
	var key keyFlag
	c := &cobra.Command{
		Use:   "add --pool ID --at TIME (--state STATE | --rules FILE.json | --prize ID --delta N --reason TEXT)",
		Short: "Plan one item",
		Long: `Plan one item. With --key it is planned once: the same key again prints the
first result. Without it the same item again is planned again.`,
		Example: `  drawsvc agenda add --pool spring --at 2026-12-01T09:00:00+01:00 --state open
  drawsvc agenda add --pool spring --at 2026-12-24T17:00:00Z --prize gold --delta 10 --reason eve`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	output.flag(c.Flags())
	wanted.flags(c)
	key.flag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := key.check(c); err != nil {
			return err
		}
		item, err := wanted.item(c, env)
		if err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, planner itemPlanner) error {
			if err := wanted.fits(ctx, planner, string(pool), &item); err != nil {
				return err
			}
			planned, err := planner.PlanItem(ctx, string(pool), item, string(key), string(by))
			if err != nil {
				return err
			}
			if output == outputJSON {
				return http.WriteItem(env.stdout, &planned)
			}
			_, err = printf(env.stdout, "pool %s: item %d is planned for %s: %s%s\n",
				pool, planned.Number, timeOf(&planned), whatOf(&planned), plannedBefore(planned.Replayed))
			return err
		})
	}
	return c
}

// itemPlanner plans an item of a pool that can be read.
type itemPlanner interface {
	http.Planner
	poolFinder
}

// fits checks rules against the pool that they are planned for, because what is
// wrong with them is the file's fault and not the command line's.
func (n *newAgendaItem) fits(ctx context.Context, pools poolFinder, id string, i *draw.Item) error {
	if i.Rules == nil {
		return nil
	}
	pool, err := pools.Pool(ctx, id)
	if err != nil {
		return err
	}
	return ofFile(n.rules, i.Rules.Check(pool.Prizes))
}

func timeOf(i *draw.Item) string { return i.At.UTC().Format(draw.TimeFormat) }

// whatOf is what a table says that an item plans.
func whatOf(i *draw.Item) string {
	switch {
	case i.Kind == draw.ItemState:
		return "state " + string(i.State)
	case i.Kind == draw.ItemStock:
		return fmt.Sprintf("%s of %s (%s)", moved(i.Stock.Delta), i.Stock.PrizeID, i.Stock.Reason)
	case i.Rules == nil:
		return "no rules"
	}
	return "rules " + i.Rules.SHA256()[:12]
}

func agendaListCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var output output
	var open bool
	c := &cobra.Command{Use: "list --pool ID [--open]", Short: "List the items of an agenda, without those that were removed"}
	on.flag(c, env)
	pool.declare(c, false)
	output.flag(c.Flags())
	c.Flags().BoolVar(&open, "open", false, "leave out the items that are done")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return readOn(c, &on, func(ctx context.Context, reader agendaReader) error {
			return listAgenda(ctx, reader, env.stdout, output, string(pool), open)
		})
	}
	return c
}

// agendaPage is how many items are read at once.
const agendaPage = 1000

// agendaReader reads the items of an agenda in pages.
type agendaReader interface {
	Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error)
}

// listAgenda prints items as a table, or as the HTTP call answers them.
func listAgenda(ctx context.Context, reader agendaReader, w io.Writer, o output, pool string, open bool) error {
	if o == outputJSON {
		var all []draw.Item
		if err := eachItem(ctx, reader, pool, open, func(i *draw.Item) error { all = append(all, *i); return nil }); err != nil {
			return err
		}
		return http.WriteItems(w, all)
	}
	t := newTable(w)
	fmt.Fprintln(t, "item\tat\tdone\tactor\twhat")
	err := eachItem(ctx, reader, pool, open, func(i *draw.Item) error {
		_, err := printf(t, "%d\t%s\t%s\t%s\t%s\n", i.Number, timeOf(i), doneOf(i), i.Actor, whatOf(i))
		return err
	})
	if err != nil {
		return err
	}
	return t.Flush()
}

// eachItem calls fn with the items of an agenda, in order of their numbers.
func eachItem(ctx context.Context, reader agendaReader, pool string, open bool, fn func(*draw.Item) error) error {
	for after := int64(0); ; {
		items, err := reader.Agenda(ctx, pool, after, agendaPage, open)
		if err != nil {
			return err
		}
		for i := range items {
			if err := fn(&items[i]); err != nil {
				return err
			}
		}
		if len(items) < agendaPage {
			return nil
		}
		after = items[len(items)-1].Number
	}
}

// openAgenda are the open items of a pool, in the order in which they are done.
func openAgenda(ctx context.Context, reader agendaReader, pool string) (all []draw.Item, err error) {
	err = eachItem(ctx, reader, pool, true, func(i *draw.Item) error { all = append(all, *i); return nil })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b draw.Item) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Number, b.Number)) })
	return all, nil
}

func doneOf(i *draw.Item) string {
	if i.Done == 0 {
		return "-"
	}
	return "version " + strconv.FormatInt(i.Done, 10)
}

func agendaRemoveCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	c := &cobra.Command{Use: "remove --pool ID ITEM", Short: "Remove an item that is not done yet"}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	c.Args = arguments(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		number, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || number < 1 {
			return usageError{errors.New("the item must be a whole number above 0")}
		}
		return changeOn(c, &on, by, func(ctx context.Context, planner http.Planner) error {
			if err := planner.RemoveItem(ctx, string(pool), number, string(by)); err != nil {
				return err
			}
			_, err := printf(env.stdout, "pool %s: item %d is removed\n", pool, number)
			return err
		})
	}
	return c
}
