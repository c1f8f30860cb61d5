package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/setting"
)

// newPool is the command line of pool create.
type newPool struct {
	name, mode, state, rulesFile, currency string
	prizes                                 prizeFlags
}

func poolCreateCommand(env setting.Environment) *cobra.Command {
	var n newPool
	c := newCommand(env, "create ID", "Create a pool with its prizes, all or nothing", acting, namingPool)
	c.Example = `  drawsvc pool create spring --name 'Spring draw' \
    --prize 'id=gold,name=Gold coin,value=19.90,stock=10' --prize id=silver,stock=90`
	f := c.Flags()
	f.StringVar(&n.name, "name", "", "name of the pool (default its id)")
	f.StringVar(&n.state, "state", string(draw.StateOpen), "`STATE` of the new pool: open or paused")
	f.StringVar(&n.mode, "mode", "", "the pool's own `MODE`: "+strings.Join(lockmode.Names(), ", ")+
		"\n(default the service's; not taken from the environment, where it is the service's)")
	f.Lookup("mode").Annotations = map[string][]string{setting.NoVariable: {"true"}}
	f.StringVar(&n.rulesFile, "rules", "", "`FILE` of the pool's rules, - for the standard input")
	f.StringVar(&n.currency, "currency", "", "`CODE` of the currency of the values, such as EUR; it is only shown")
	f.Var(&n.prizes, "prize", "a prize, as id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]; once for each\n"+
		"(a blank is a losing ticket; one without stock is endless, for rules)\n"+
		"(default name its id; a name that holds a comma: 'id=a,\"name=A, B\",stock=1')")
	var wanted api.NewPool
	return c.does(func([]string) (err error) {
		wanted, err = n.read(string(c.pool), env)
		return err
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		made, err := on.CreatePool(ctx, &wanted)
		if err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "pool %s created (%s): prizes %d, units %d\n", made.ID, made.State, len(made.Prizes), unitsOf(&made).stocked)
		return err
	})
}

// read returns the pool that the flags describe.
func (n *newPool) read(id string, env setting.Environment) (api.NewPool, error) {
	state := draw.State(n.state)
	prizes := append([]api.NewPrize{}, n.prizes...)
	wanted := api.NewPool{ID: id, Name: cmp.Or(n.name, id), State: &state, Prizes: &prizes}
	if n.currency != "" {
		wanted.Currency = &n.currency
	}
	read, err := wanted.Read()
	if err != nil {
		return wanted, err
	}
	if n.mode != "" {
		if !slices.Contains(lockmode.Names(), n.mode) {
			return wanted, setting.AsUsage(fmt.Errorf("--mode must be one of %s", strings.Join(lockmode.Names(), ", ")))
		}
		wanted.Mode = &n.mode
	}
	if n.rulesFile == "" {
		return wanted, nil
	}
	rules, err := readRules(n.rulesFile, env)
	if err != nil {
		return wanted, err
	}
	wanted.Rules = jsontext.Value(rules.Document())
	return wanted, rules.fits(read.Prizes)
}

func poolListCommand(env setting.Environment) *cobra.Command {
	var archived bool
	var wanted draw.PoolFilter
	c := newCommand(env, "list", "List all pools that are not archived", printing)
	c.Flags().BoolVar(&archived, "archived", false, "archived pools too")
	c.Flags().StringVar(&wanted.Words, "search", "", "only pools whose name or id contains these words")
	c.Flags().StringVar((*string)(&wanted.State), "state", "", "only pools in this state: open, paused or closed")
	return c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		if archived {
			wanted.Archived = draw.ArchivedToo
		}
		if err := wanted.Check(); err != nil {
			return setting.AsUsage(err)
		}
		return printPools(env.Stdout, c.output, func(do func(*api.Pool) error) error { return on.EachPool(ctx, wanted, do) })
	})
}

func poolShowCommand(env setting.Environment) *cobra.Command {
	var every watchInterval
	c := newCommand(env, "show ID", "Show a pool and its prizes", printing, namingPool)
	c.Long = `Show a pool and its prizes. With --watch the pool is shown again every second, or
as often as --watch=TIME says: on a terminal in place, else one below the other,
with --output json a line each. It ends with Ctrl-C, or when the pool is closed,
with exit code 0. While the database or the service is away it goes on and says
so; any other error ends it.`
	c.Example = `  drawsvc pool show spring --watch=2s`
	every.flag(c.Flags())
	return c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		if every > 0 {
			return watchPool(ctx, env, on, string(c.pool), c.output, time.Duration(every))
		}
		found, err := on.Pool(ctx, string(c.pool))
		if err != nil {
			return err
		}
		return printPool(env.Stdout, c.output, &found)
	})
}

// units are the counts of a pool: the sums over its prizes, without endless blanks.
type units struct{ stocked, issued int64 }

func unitsOf(p *api.Pool) (u units) {
	for i := range p.Prizes {
		if z := &p.Prizes[i]; z.Stocked != nil {
			u.stocked += *z.Stocked
			u.issued += z.Issued
		}
	}
	return u
}

// ownMode returns the text for the mode of a pool, also of a pool without a mode.
func ownMode(p *api.Pool) string {
	if p.Mode == nil {
		return "(service's)"
	}
	return *p.Mode
}

// archived returns the part of a pool's line after its state.
func archived(p *api.Pool) string {
	if p.Archived {
		return " and archived"
	}
	return ""
}

// printPools prints the pools that each passes to do. It keeps no pool in memory,
// because a pool may have 100,000 prizes.
func printPools(w io.Writer, o output, each func(do func(*api.Pool) error) error) error {
	if o == outputJSON {
		return printPoolsJSON(w, each)
	}
	t := newTable(w)
	fmt.Fprintln(t, "pool\tstate\tmode\tversion\tprizes\tstocked\tissued\tremaining\tname")
	err := each(func(p *api.Pool) error {
		if p.IsNameOnly() {
			_, err := setting.Printf(t, "%s\t%s\t-\t-\t-\t-\t-\t-\t%s\n", p.ID, p.State, p.Name)
			return err
		}
		u := unitsOf(p)
		_, err := setting.Printf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
			p.ID, p.State, ownMode(p), p.Version, len(p.Prizes), u.stocked, u.issued, u.stocked-u.issued, p.Name)
		return err
	})
	if err != nil {
		return err
	}
	return t.Flush()
}

// printPoolsJSON prints the pools as one page, in the form of api.Pools.
func printPoolsJSON(w io.Writer, each func(do func(*api.Pool) error) error) error {
	before := `{"pools":[`
	err := each(func(p *api.Pool) error {
		body, err := json.Marshal(p.Seen())
		if err == nil {
			_, err = w.Write(append([]byte(before), body...))
		}
		before = ","
		return err
	})
	if err != nil {
		return err
	}
	if before != "," {
		_, err = io.WriteString(w, before)
	}
	if err == nil {
		_, err = io.WriteString(w, `],"next":null}`+"\n")
	}
	return err
}

func printPool(w io.Writer, o output, p *api.Pool) error {
	if o == outputJSON {
		return api.WriteLine(w, p.Seen())
	}
	if p.IsNameOnly() {
		_, err := setting.Printf(w, "pool %s, %s: %s\n", p.ID, p.Name, p.State)
		return err
	}
	if _, err := setting.Printf(w, "pool %s, %s: %s%s, mode %s, revision %d, version %d%s%s%s%s\n\n",
		p.ID, p.Name, p.State, archived(p), ownMode(p), p.Revision, p.Version, rulesOf(p), committedOf(p), openingOf(p), fairOf(p)); err != nil {
		return err
	}
	if p.Text != "" {
		if _, err := setting.Printf(w, "text: %s\n\n", p.Text); err != nil {
			return err
		}
	}
	if err := printMoney(w, p); err != nil {
		return err
	}
	t := newTable(w)
	header, given := "", "%.0s" // a format that prints nothing of its argument
	if p.Budget != nil || p.Currency != "" {
		header, given = "given\t", "%s\t"
	}
	fmt.Fprintln(t, "prize\tvalue\tstocked\tissued\tremaining\t"+header+"name")
	for i := range p.Prizes {
		z := &p.Prizes[i]
		_, _ = setting.Printf(t, "%s\t%s\t%s\t%d\t%s\t"+given+"%s%s\n",
			z.ID, z.Value, orEndless(z.Stocked), z.Issued, orEndless(z.Remaining), z.Given, z.Name, blank(z)+shownAs(z))
	}
	return t.Flush()
}

// printMoney prints the current state of the pool's budget, and the reason if nothing
// can be won.
func printMoney(w io.Writer, p *api.Pool) error {
	if b := p.Budget; b != nil {
		period, currency := "", ""
		if b.Per != nil {
			period = " per " + *b.Per
		}
		if p.Currency != "" {
			currency = " " + p.Currency
		}
		if _, err := setting.Printf(w, "budget: %s of %s%s given%s, %s left\n", b.Spent, b.Max, currency, period, b.Left); err != nil {
			return err
		}
	}
	if p.Nothing != nil {
		if _, err := setting.Printf(w, "%s\n", p.Nothing.Detail); err != nil {
			return err
		}
	}
	if p.Budget == nil && p.Nothing == nil {
		return nil
	}
	_, err := fmt.Fprintln(w)
	return err
}

// rulesOf returns the part of a pool's line about its rules.
func rulesOf(p *api.Pool) string {
	if p.Rules == 0 {
		return ""
	}
	return fmt.Sprintf(", rules of version %d", p.Rules)
}

// committedOf returns the part of a pool's line about its commitment.
func committedOf(p *api.Pool) string {
	if p.Committed == 0 {
		return ""
	}
	return fmt.Sprintf(", committed at version %d", p.Committed)
}

// openingOf returns the part of a pool's line about the announced round for its
// opening.
func openingOf(p *api.Pool) string {
	if p.Opening == nil {
		return ""
	}
	return fmt.Sprintf(", opens with round %d at %s", p.Opening.Round, toSeconds(p.Opening.At))
}

// shownAs returns the part of a prize's line that shows another name for players.
func shownAs(p *api.Prize) string {
	if p.Display == nil || p.Display.Name == "" {
		return ""
	}
	return fmt.Sprintf(", shown as %q", p.Display.Name)
}

// fairOf returns the part of a pool's line about its page of fairness.
func fairOf(p *api.Pool) string {
	if !p.Fair {
		return ""
	}
	return ", page of fairness at /fair/" + p.ID
}

// blank returns the part of a prize's line after its name.
func blank(p *api.Prize) string {
	if p.Kind != draw.KindBlank {
		return ""
	}
	return " (blank)"
}

// watchInterval is how often a pool is shown again, 0 for never. It implements
// pflag.Value.
type watchInterval time.Duration

// The minimum and the maximum interval, and the interval of --watch without a value.
const (
	intervalMin   = 100 * time.Millisecond
	intervalMax   = time.Hour
	intervalUsual = "1s"
)

func (w *watchInterval) flag(flags *pflag.FlagSet) {
	flags.Var(w, "watch", "show the pool again every `TIME`, until it is closed or Ctrl-C")
	flags.Lookup("watch").NoOptDefVal = intervalUsual
}

// String implements pflag.Value.
func (w *watchInterval) String() string {
	if *w == 0 {
		return ""
	}
	return time.Duration(*w).String()
}

// Type implements pflag.Value.
func (w *watchInterval) Type() string { return "interval" }

// Set implements pflag.Value.
func (w *watchInterval) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < intervalMin || d > intervalMax {
		return fmt.Errorf("must be a time such as 2s, from %s to %s", intervalMin, intervalMax)
	}
	*w = watchInterval(d)
	return nil
}

// clearScreen moves a terminal to its first line and clears everything below.
const clearScreen = "\x1b[H\x1b[J"

// watchPool shows a pool repeatedly, until it is closed or ctx ends.
func watchPool(ctx context.Context, env setting.Environment, pools *api.Client, id string, o output, every time.Duration) error {
	isTerminal := setting.IsTerminal(env.Stdout)
	var last *api.Pool
	for ctx.Err() == nil {
		found, err := pools.Pool(ctx, id)
		switch {
		case err == nil:
			if err := showWatched(env, o, &found, last, isTerminal); err != nil || found.State == draw.StateClosed {
				return err
			}
			last = &found
		case ctx.Err() != nil: // Ctrl-C is the usual end of a watch
		case isAway(err):
			fmt.Fprintln(env.Stderr, "drawsvc:", setting.Message(err))
		default:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	return nil
}

// isAway reports whether an attempt after err may succeed.
func isAway(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) ||
		slices.Contains([]draw.Code{draw.CodeStoreUnavailable, draw.CodeOverloaded, draw.CodeContended, draw.CodeDraining}, draw.CodeOf(err))
}

// showWatched shows a pool, and the units that were issued since the last time.
func showWatched(env setting.Environment, o output, p, last *api.Pool, isTerminal bool) error {
	if o == outputTable {
		switch {
		case isTerminal:
			fmt.Fprint(env.Stdout, clearScreen)
		case last != nil:
			fmt.Fprintln(env.Stdout)
		}
	}
	if err := printPool(env.Stdout, o, p); err != nil || o != outputTable || p.IsNameOnly() {
		return err
	}
	now := unitsOf(p)
	since := ""
	if last != nil {
		since = ", " + strconv.FormatInt(now.issued-unitsOf(last).issued, 10) + " since the line before"
	}
	_, err := setting.Printf(env.Stdout, "\n%s  %d of %d units issued%s\n", time.Now().UTC().Format(time.TimeOnly), now.issued, now.stocked, since)
	return err
}

func poolCopyCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "copy ID --to ID", "Create a paused pool like another one, all or nothing", acting, printing, namingPool)
	c.Long = `Create a paused pool with the prizes, the rules and what is only shown of another
one. With --days the agenda is copied too, each item so many calendar days later
at the same time of day. Hidden items are spread again, at random. Keep the salts
of the seals that are printed: they are stored nowhere.`
	c.Example = `  drawsvc pool copy advent-2026 --to advent-2027 --name 'Advent 2027' --days 365`
	var to api.PoolCopy
	var days int
	var zone string
	f := c.Flags()
	f.StringVar(&to.ID, "to", "", "`ID` of the new pool")
	f.StringVar(&to.Name, "name", "", "name of the new pool (default its id)")
	f.IntVar(&days, "days", 0, "copy the agenda, so many `DAYS` later; without it none is copied")
	f.StringVar(&zone, "zone", "", "`ZONE` of the time of day, such as Europe/Berlin (default that of the rules in force, else of former or planned rules, else UTC)")
	return c.does(func([]string) error {
		to.Name = cmp.Or(to.Name, to.ID)
		if f.Changed("days") {
			to.Days = &days
		}
		if zone != "" {
			to.Zone = &zone
		}
		if _, err := to.Read(); err != nil {
			return setting.AsUsage(err)
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		made, err := on.CopyPool(ctx, string(c.pool), &to)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &made)
		}
		_, err = setting.Printf(env.Stdout, "pool %s created (%s): prizes %d, units %d\n", made.Pool.ID, made.Pool.State, len(made.Pool.Prizes), unitsOf(&made.Pool).stocked)
		for i := range made.Planned {
			if p := &made.Planned[i]; err == nil {
				_, err = setting.Printf(env.Stdout, "planned %d items, as version %d, sha256 %s, salt %s\n", p.Count, p.Version, p.SHA256, p.Salt)
			}
		}
		return err
	})
}
