package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/setting"
)

// errUnlikely means that a simulation gave a prize with an improbable share.
var errUnlikely = errors.New("a simulated share is further from its expectation than chance explains")

// configMax is the maximum size of a file of a pool to simulate, in bytes.
const configMax = 64 << 20

// simulation is the command line of `simulate`.
type simulation struct {
	*command
	config       string
	draws, users int
	rate         string
	from, to     string
	asStocked    bool
	seed         uint64
	// run is read from the flags.
	run odds.Simulation
}

func simulateCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "simulate --pool ID | --config FILE.json", "Try a pool's stock and rules with many draws, in memory; writes nothing", printing)
	c.Long = `Try a pool's stock and rules with many draws, in memory, by the code that decides
real draws. Nothing is written. FILE.json is a pool as POST /admin/pools takes
it; a pool of the database begins where it stands, and follows its agenda. With
--to the draws are spread evenly from --from, and --rate is not needed.

The table has the exact mean of what the urn gives, where there is one, and z:
how far the simulation is from it, in standard deviations. Exit code 3 says that
a |z| is above 5.`
	c.Example = `  drawsvc simulate --pool spring --draws 1000000 --users 10000 --rate 50/s
  drawsvc simulate --pool advent --users 50000 --from 2026-12-01T00:00:00+01:00 --to 2026-12-25T00:00:00+01:00`
	s := simulation{command: c}
	s.flags()
	ofDatabase := c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		pool, err := s.find(ctx, on)
		if err != nil {
			return err
		}
		return s.simulate(ctx, &pool)
	}).RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.read(); err != nil {
			return err
		}
		if s.config == "" {
			return ofDatabase(cmd, args)
		}
		text, err := readDocument(s.config, env, configMax)
		if err != nil {
			return err
		}
		pool, err := api.ReadPool(text)
		if err != nil {
			return ofFile(s.config, err)
		}
		return ofFile(s.config, s.simulate(cmd.Context(), &pool))
	}
	return c.Command
}

// find reads the pool, and the parts of its agenda and state that the run needs.
func (s *simulation) find(ctx context.Context, on *api.Client) (pool draw.Pool, err error) {
	found, err := on.Pool(ctx, string(s.pool))
	if err != nil {
		return pool, err
	}
	if pool.Prizes, err = found.ReadPrizes(); err != nil {
		return pool, err
	}
	if found.Rules != 0 {
		// The rules of a version never change. So pool and rules belong to one state, although
		// two calls read them.
		ruling, err := on.Rules(ctx, found.ID, found.Rules)
		if err != nil {
			return pool, err
		}
		pool.Rules = ruling.Read()
	}
	if err := s.readSpent(found.Budget, pool.Rules); err != nil {
		return pool, err
	}
	s.run.Agenda, s.run.Hidden, err = openAgenda(ctx, on, found.ID)
	if slices.ContainsFunc(s.run.Agenda, func(i draw.Item) bool { return i.Kind == draw.ItemState }) {
		s.run.Pool.State = found.State // otherwise a pool that is not open yet would award nothing
	}
	return pool, err
}

// readSpent sets the amount that the budget has already given when the run begins.
func (s *simulation) readSpent(b *api.Budget, r *draw.Rules) error {
	if b == nil || r == nil || r.Budget == nil || s.asStocked {
		return nil
	}
	spent, err := decimal.NewFromString(b.Spent)
	if err != nil {
		return fmt.Errorf("read what the budget has given: %w", err)
	}
	now := time.Now()
	present := draw.Spending{From: r.Budget.Per.Start(now, r.Zone), Cents: draw.Cents(spent)}
	s.run.SpentBefore = []draw.Spending{present.Before(r.Budget, s.run.From, now, r.Zone)}
	return nil
}

func (s *simulation) flags() {
	s.pool.optional(s.Command, "`ID` of the pool")
	f := s.Flags()
	f.StringVar(&s.config, "config", "", "`FILE` of a pool that need not exist, - for the standard input")
	f.IntVar(&s.draws, "draws", 1_000_000, "number of draws, each of one unit")
	f.IntVar(&s.users, "users", 10_000, "number of users, all equally likely to draw")
	f.StringVar(&s.rate, "rate", "50/s", "draws per second, minute or hour of the simulated clock: 50/s, 10/m, 3/h")
	f.StringVar(&s.from, "from", "", "`TIME` at which the simulated clock begins, such as 2026-12-01T00:00:00Z (default now)")
	f.StringVar(&s.to, "to", "", "`TIME` at which it ends: the draws are spread evenly until then, instead of by --rate")
	f.BoolVar(&s.asStocked, "as-stocked", false, "begin with all units that were ever stocked, as if none were issued")
	f.Uint64Var(&s.seed, "seed", 1, "chooses the random numbers: the same seed, the same run")
}

// The maximum numbers of draws and users keep a simulation within minutes and a GB.
const (
	simulatedDrawsMax = 1_000_000_000
	simulatedUsersMax = 10_000_000
)

// read checks the flags.
func (s *simulation) read() (err error) {
	s.run = odds.Simulation{Draws: s.draws, Users: s.users, Seed: s.seed, From: time.Now().UTC().Truncate(time.Microsecond)}
	switch {
	case (s.pool == "") == (s.config == ""):
		return setting.AsUsage(errors.New("name the pool with --pool, or a file with --config"))
	case s.draws < 1 || s.draws > simulatedDrawsMax:
		return setting.AsUsage(fmt.Errorf("--draws must be 1 to %d", simulatedDrawsMax))
	case s.users < 1 || s.users > simulatedUsersMax:
		return setting.AsUsage(fmt.Errorf("--users must be 1 to %d", simulatedUsersMax))
	}
	if err := readTimeFlag("from", s.from, &s.run.From); err != nil {
		return err
	}
	if s.to == "" {
		s.run.Rate, err = parseRate(s.rate)
		return err
	}
	var to time.Time
	switch err := readTimeFlag("to", s.to, &to); {
	case err != nil:
		return err
	case to.Sub(s.run.From) < time.Second:
		return setting.AsUsage(errors.New("--to must be a second or more after --from"))
	case s.Flags().Changed("rate"):
		return setting.AsUsage(errors.New("give one of --to and --rate"))
	}
	s.run.Rate = float64(s.draws) / to.Sub(s.run.From).Seconds()
	return nil
}

// parseRate reads a number per s, m or h, and returns it per second.
func parseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	const most, least = 1e6, 1e-6 // keep the simulated clock within the range of times
	if rate := n / seconds; err == nil && rate >= least && rate <= most {
		return rate, nil
	}
	return 0, setting.AsUsage(errors.New("--rate must be such as 50/s, 10/m or 3/h, at most 1000000/s"))
}

// simulate draws from the pool, and prints the result.
func (s *simulation) simulate(ctx context.Context, pool *draw.Pool) error {
	s.run.Pool.Prizes, s.run.Pool.Rules = pool.Prizes, pool.Rules
	if s.asStocked {
		for i := range s.run.Pool.Prizes {
			s.run.Pool.Prizes[i].Issued = 0
		}
	}
	s.run.Stop = func() error { return context.Cause(ctx) }
	done, err := odds.Simulate(s.run)
	if err != nil {
		return err
	}
	shown := api.ShowSimulated(&done)
	if s.output == outputJSON {
		err = json.NewEncoder(s.env.Stdout).Encode(shown)
	} else {
		err = printSimulated(s.env.Stdout, &done)
	}
	if err == nil && shown.Unlikely {
		err = errUnlikely
	}
	return err
}

// daysPrinted is the maximum number of days in the text of a simulation.
const daysPrinted = 366

// printDays prints the days of a simulation that has more than one.
func printDays(w io.Writer, s *odds.Simulated) error {
	if len(s.Days) < 2 {
		return nil
	}
	fmt.Fprintf(w, "\ndays in %s\n", s.Zone)
	t := newTable(w)
	fmt.Fprintln(t, "day\tdate\tdraws\twins\tvalue\trefused")
	for i, d := range s.Days[:min(len(s.Days), daysPrinted)] {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%s\t%d\n", i+1, d.Date, d.Draws, d.Wins, draw.Amount(d.Cents).StringFixed(2), d.Refused)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(s.Days) - daysPrinted; more > 0 {
		fmt.Fprintf(w, "%d more days: --output json\n", more)
	}
	return nil
}

func printSimulated(w io.Writer, s *odds.Simulated) error {
	t := newTable(w)
	number := func(format string, n *float64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprintf(format, *n)
	}
	fmt.Fprintln(t, "prize\tcount\tshare\texpected\tz\tsold out after\ton")
	for i := range s.Prizes {
		p := &s.Prizes[i]
		after := cmp.Or(strings.TrimPrefix(strconv.FormatInt(p.SoldOutAfter, 10), "0"), "-")
		on := "-"
		if p.SoldOutDay > 0 {
			on = fmt.Sprintf("day %d, %s", p.SoldOutDay, s.Days[p.SoldOutDay-1].Date)
		}
		fmt.Fprintf(t, "%s\t%d\t%.6f\t%s\t%s\t%s\t%s\n", p.PrizeID, p.Count, p.Share, number("%.6f", p.Expected), number("%+.2f", p.Z), after, on)
	}
	if err := cmp.Or(t.Flush(), printDays(w, s)); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ndraws %d\n", s.Draws)
	if s.Spent > 0 { // it is always 0 without a budget
		fmt.Fprintf(w, "spent of the budget: %s\n", draw.Amount(s.Spent).StringFixed(2))
	}
	for _, why := range slices.Sorted(maps.Keys(s.Redirects)) {
		fmt.Fprintf(w, "redirected, %s: %d\n", why, s.Redirects[why])
	}
	for _, code := range slices.Sorted(maps.Keys(s.Refusals)) {
		fmt.Fprintf(w, "refused, %s: %d\n", code, s.Refusals[code])
	}
	for _, f := range s.Failed {
		fmt.Fprintf(w, "item %d of the agenda failed, %s: %s\n", f.Item, f.Failed, f.Detail)
	}
	if g := s.Guarantee; g != nil {
		fmt.Fprintf(w, "guarantee: wins %d, rate %.6f, expected %.6f, z %+.2f\n", g.Wins, g.Rate, g.Expected, g.Z)
	}
	return nil
}
