package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/setting"
)

func agendaCommand(env setting.Environment) *cobra.Command {
	return newGroup("agenda", "Plan what a pool does at an instant",
		agendaAddCommand(env), agendaImportCommand(env), agendaSpreadCommand(env), agendaListCommand(env), agendaRemoveCommand(env))
}

// newAgendaItem is an item as the flags of agenda add describe it.
type newAgendaItem struct {
	at, state, rulesFile, moment string
	stock                        draw.Stocking
	rules                        *rulesOfFile
}

func (n *newAgendaItem) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&n.at, "at", "", "the `TIME` of RFC 3339, of any zone")
	f.StringVar(&n.state, "state", "", "open, paused or closed")
	f.StringVar(&n.rulesFile, "rules", "", "`FILE` of the rules to be put in force, - for the standard input")
	f.StringVar(&n.moment, "moment", "", "`ID` of the prize that the first draw after the time gets: a winning moment")
	f.StringVar(&n.stock.PrizeID, "prize", "", "`ID` of the prize whose stock is moved")
	f.Int64Var(&n.stock.Delta, "delta", 0, "units to add; negative to withdraw")
	f.StringVar(&n.stock.Reason, "reason", "", "why the stock is moved, for the pool's log")
}

// read returns the item that the flags describe.
func (n *newAgendaItem) read(c *cobra.Command, env setting.Environment) (api.NewItem, error) {
	var item api.NewItem
	isStock := c.Flags().Changed("prize") || c.Flags().Changed("delta") || c.Flags().Changed("reason")
	at, err := draw.ParseTime("--at", n.at)
	if err != nil {
		return item, err
	}
	item.At = new(api.ShowTime(at))
	switch {
	case n.moment != "" && n.state == "" && n.rulesFile == "" && !isStock:
		item.Moment = &n.moment
	case n.moment != "":
		return item, errItemFlags()
	case n.state != "" && n.rulesFile == "" && !isStock:
		item.State = new(draw.State(n.state))
	case n.state == "" && n.rulesFile != "" && !isStock:
		if n.rules, err = readRules(n.rulesFile, env); err != nil {
			return item, err
		}
		item.Rules = jsontext.Value(n.rules.Document())
	case n.state == "" && n.rulesFile == "" && isStock:
		item.Prize, item.Delta, item.Reason = &n.stock.PrizeID, &n.stock.Delta, &n.stock.Reason
	default:
		return item, errItemFlags()
	}
	_, err = item.Read()
	return item, err
}

func errItemFlags() error {
	return setting.AsUsage(errors.New("give one of --state, --rules, --moment, or --prize with --delta and --reason"))
}

func agendaAddCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "add --pool ID --at TIME (--state STATE | --rules FILE.json | --moment ID | --prize ID --delta N --reason TEXT)", "Plan one item", acting, ofPool, printing)
	c.Long = `Plan one item. With --key it is planned once: the same key again prints the
first result. Without it the same item again is planned again.

A moment gives one unit of a prize to the first draw after its time. Nobody sees
it before it is done: it is planned as an import of one item, whose seal and salt
are printed.`
	c.Example = `  drawsvc agenda add --pool spring --at 2026-12-01T09:00:00+01:00 --state open
  drawsvc agenda add --pool spring --at 2026-12-24T17:00:00Z --prize gold --delta 10 --reason eve`
	var wanted newAgendaItem
	var key keyFlag
	wanted.flags(c.Command)
	key.flag(c.Command)
	var item api.NewItem
	return c.does(func([]string) (err error) {
		if err := key.check(c.Command); err != nil {
			return err
		}
		item, err = wanted.read(c.Command, env)
		return err
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		if wanted.rules != nil {
			if _, err := checkAgainst(ctx, on, string(c.pool), wanted.rules); err != nil {
				return err
			}
		}
		if item.Moment != nil {
			p, err := on.PlanMoment(ctx, string(c.pool), string(key), &item)
			if err != nil {
				return err
			}
			return printPlanned(env.Stdout, c.output, string(c.pool), &p)
		}
		planned, err := on.PlanItem(ctx, string(c.pool), string(key), &item)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &planned)
		}
		_, err = setting.Printf(env.Stdout, "pool %s: item %d is planned for %s: %s%s\n",
			c.pool, planned.Item.Item, planned.At, whatOf(&planned.Item), plannedBefore(planned.Replayed))
		return err
	})
}

// whatOf returns the cell of a table that shows the plan of an item.
func whatOf(i *api.Item) string {
	switch {
	case i.State != "":
		return "state " + string(i.State)
	case i.Moment != "":
		return "moment of " + i.Moment
	case i.Prize != "":
		return fmt.Sprintf("%s of %s (%s)", moved(i.Delta), i.Prize, i.Reason)
	case len(i.Rules) == 0 || i.Rules.Kind() == 'n':
		return "no rules"
	}
	return "rules " + rules.Read(i.Rules).SHA256()[:12]
}

func agendaListCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "list --pool ID [--open]", "List the items of an agenda, without those that were removed", ofPool, printing)
	var open bool
	c.Flags().BoolVar(&open, "open", false, "leave out the items that are done")
	return c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		all, err := on.Agenda(ctx, string(c.pool), open)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, all)
		}
		t := newTable(env.Stdout)
		fmt.Fprintln(t, "item\tat\tdone\tactor\twhat")
		for i := range all.Items {
			switch line := &all.Items[i]; {
			case line.Hidden != nil:
				_, _ = setting.Printf(t, "-\t%s\t-\t-\t%s\n", spanOf(line.Hidden), hiddenOf(line.Hidden))
			case line.Item != nil:
				_, _ = setting.Printf(t, "%d\t%s\t%s\t%s\t%s\n", line.Item.Item, line.At, doneOf(line.Item), line.Actor, whatOf(line.Item))
			}
		}
		return t.Flush()
	})
}

// openAgenda returns the open items of a pool, in the order in which they will be
// carried out, and the visible form of hidden items.
func openAgenda(ctx context.Context, on *api.Client, pool string) ([]draw.Item, []draw.Hidden, error) {
	agenda, err := on.Agenda(ctx, pool, true)
	if err != nil {
		return nil, nil, err
	}
	all, hidden, err := api.ReadItems(agenda.Items)
	slices.SortFunc(all, func(a, b draw.Item) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Number, b.Number)) })
	return all, hidden, err
}

// spanOf returns the span in which hidden items will be done, as far as that is known.
func spanOf(h *api.Hidden) string {
	if h.From == nil || h.To == nil {
		return "hidden"
	}
	return *h.From + " to " + *h.To
}

// hiddenOf returns the cell of a table that shows hidden items.
func hiddenOf(h *api.Hidden) string {
	what := moved(h.Count) + " of " + h.Prize
	if h.Moment {
		what = counted(h.Count, "moment") + " of " + h.Prize
	}
	return fmt.Sprintf("hidden: %s (version %d, sha256 %s)", what, h.Version, h.SHA256[:min(12, len(h.SHA256))])
}

func doneOf(i *api.Item) string {
	if i.Done == nil {
		return "-"
	}
	version := "version " + strconv.FormatInt(*i.Done, 10)
	if i.Failed != "" {
		return "failed: " + string(i.Failed) + ", " + version
	}
	return version
}

func agendaRemoveCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "remove --pool ID (ITEM | --import VERSION)", "Remove an item that is not done yet, or all open ones of an import or spread", acting, ofPool)
	c.Args = cobra.MaximumNArgs(1)
	var number, version int64
	c.Flags().Int64Var(&version, "import", 0, "the `VERSION` of the change that planned an import or spread: remove its open items")
	return c.does(func(args []string) (err error) {
		if (len(args) == 1) == c.Flags().Changed("import") || c.Flags().Changed("import") && version < 1 {
			return setting.AsUsage(errors.New("name an item, or an import by a version above 0"))
		}
		if len(args) == 0 {
			return nil
		}
		if number, err = strconv.ParseInt(args[0], 10, 64); err != nil || number < 1 {
			return setting.AsUsage(errors.New("the item must be a whole number above 0"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		if version > 0 {
			if err := on.RemovePlanned(ctx, string(c.pool), version); err != nil {
				return err
			}
			_, err := setting.Printf(env.Stdout, "pool %s: the open items that version %d planned are removed\n", c.pool, version)
			return err
		}
		if err := on.RemoveItem(ctx, string(c.pool), number); err != nil {
			return err
		}
		_, err := setting.Printf(env.Stdout, "pool %s: item %d is removed\n", c.pool, number)
		return err
	})
}

func agendaImportCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "import --pool ID FILE.csv", "Plan stock moves from a file, all or nothing", acting, ofPool, printing)
	c.Long = `Plan stock moves from a file, all or nothing. FILE - is the standard
input.

The file is CSV as spreadsheets save it: the header ` + prizefile.AgendaHeader + `
in any order and case, and a line for each move, at most 100,000. Names of the
columns, separators and encodings are those of drawsvc stock import. Times are RFC 3339,
of any zone. A further column ` + prizefile.MomentColumn + ` marks winning moments by true: their
delta and reason are empty.

The import is one change, with the number of items and a SHA-256 that seals the
schedule. The salt of the seal is printed, and kept nowhere: with it and the
schedule anybody can check the seal afterwards.

With --key the file is imported once: the same key again prints the first result.
The salt follows from the key then, which nobody must guess. Without it the same
file again plans again.`
	c.Example = `  drawsvc agenda import --pool spring --key 0193a7f0-5c1e-7d52-9b0e-3f6f1d0c8a11 moments.csv`
	c.Args = oneFile
	var key keyFlag
	key.flag(c.Command)
	var file io.Reader
	return c.does(func(args []string) (err error) {
		if err := key.check(c.Command); err != nil {
			return err
		}
		file, err = c.openFile(args[0])
		return err
	}, func(ctx context.Context, on *api.Client, args []string) error {
		p, err := on.ImportAgenda(ctx, string(c.pool), string(key), file)
		if err != nil {
			return ofFile(args[0], err)
		}
		return printPlanned(env.Stdout, c.output, string(c.pool), &p)
	})
}

// printPlanned prints the items that one request planned, and their seal.
func printPlanned(w io.Writer, o output, pool string, p *api.Planned) error {
	if o == outputJSON {
		return api.WriteLine(w, p)
	}
	_, err := setting.Printf(w, "pool %s: %s planned, from item %d on (version %d)%s\nsealed with sha256 %s\nkeep the salt, which is kept nowhere else: %s\n",
		pool, counted(int64(p.Count), "item"), p.Item, p.Version, plannedBefore(p.Replayed), p.SHA256, p.Salt)
	return cmp.Or(err, printEncoding(w, p.Encoding))
}

// plannedBefore returns the text for items that were already planned under the key.
func plannedBefore(replayed bool) string {
	if !replayed {
		return ""
	}
	return "; this key was used already, and nothing was planned again"
}

// keyFlag is the key of the planned items, with which they are planned only once; ""
// means no key.
type keyFlag string

func (k *keyFlag) flag(c *cobra.Command) {
	c.Flags().StringVar((*string)(k), "key", "", "its own `KEY`: what has this key is planned once, however often it is asked for")
}

func (k *keyFlag) check(c *cobra.Command) error {
	if !c.Flags().Changed("key") {
		return nil
	}
	if *k == "" {
		return setting.AsUsage(errors.New("--key must not be empty"))
	}
	return draw.CheckKey(string(*k))
}

// newSpread is the command line of agenda spread.
type newSpread struct {
	spread   draw.Spread
	from, to string
	random   bool
}

func (n *newSpread) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&n.spread.PrizeID, "prize", "", "`ID` of the prize")
	f.Int64Var(&n.spread.Units, "units", 0, "units to release, all together")
	f.StringVar(&n.from, "from", "", "the `TIME` of the first release, of RFC 3339, of any zone")
	f.StringVar(&n.to, "to", "", "the `TIME` before which all is released")
	f.DurationVar(&n.spread.Every, "every", 0, "time between two releases, which get equal shares")
	f.BoolVar(&n.random, "random", false, "give each unit an instant by chance, which nobody sees before it is done")
	f.BoolVar(&n.spread.IsMoments, "moment", false, "make each unit a winning moment: the first draw after its instant gets it")
	f.StringVar(&n.spread.Reason, "reason", api.SpreadReason, "why the stock is moved, for the pool's log")
}

// read returns the schedule that the flags describe. An impossible schedule is refused.
func (n *newSpread) read(c *cobra.Command) (body api.NewSpread, err error) {
	s := &n.spread
	if n.random == (s.Every != 0) {
		return body, setting.AsUsage(errors.New("give one of --every and --random"))
	}
	if s.From, err = draw.ParseTime("--from", n.from); err != nil {
		return body, err
	}
	if s.To, err = draw.ParseTime("--to", n.to); err != nil {
		return body, err
	}
	body = api.NewSpread{Prize: s.PrizeID, Units: s.Units, From: api.ShowTime(s.From), To: api.ShowTime(s.To), Random: n.random, Reason: &s.Reason}
	if s.IsMoments {
		if c.Flags().Changed("reason") {
			return body, setting.AsUsage(errors.New("moments have no --reason of their own"))
		}
		body.Moment, body.Reason = true, nil
	}
	if s.Every != 0 {
		body.Every = new(s.Every.String())
	}
	_, err = s.Items(func(int64) int64 { return 0 })
	return body, err
}

func agendaSpreadCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "spread --pool ID --prize ID --units N --from TIME --to TIME (--every 1h | --random) [--moment]",
		"Plan the units of a prize over a span of time, from its first instant to before its last", acting, ofPool, printing)
	c.Example = `  drawsvc agenda spread --pool spring --prize gold --units 240 --from 2026-12-01T00:00:00Z --to 2026-12-11T00:00:00Z --every 1h
  drawsvc agenda spread --pool spring --prize gold --units 24 --from 2026-12-01T00:00:00Z --to 2026-12-25T00:00:00Z --random --moment`
	var wanted newSpread
	var key keyFlag
	wanted.flags(c.Command)
	key.flag(c.Command)
	var body api.NewSpread
	return c.does(func([]string) (err error) {
		if err := key.check(c.Command); err != nil {
			return err
		}
		body, err = wanted.read(c.Command)
		return err
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		p, err := on.SpreadAgenda(ctx, string(c.pool), string(key), &body)
		if err != nil {
			return err
		}
		return printPlanned(env.Stdout, c.output, string(c.pool), &p)
	})
}
