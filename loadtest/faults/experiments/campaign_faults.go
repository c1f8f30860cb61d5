package experiments

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"drawsvc/internal/draw/rules"
	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// campaignClock moves the clock of the database while a campaign runs: past midnight in
// the zone of its rules, ahead by hours in which items are due, and back by hours. With
// a server, the instances' own clocks are wrong by 90 s.
func campaignClock() Experiment {
	return Experiment{
		Name: "campaign, database's clock over midnight, ahead and back by hours", Number: 15, clock: stage.ClockOfDatabase, points: true, own: true, flags: followsLeaps(),
		run: underCampaign((*campaign).moveClock),
		places: []place{
			{"sqlite", lockmode.ForUpdate, "", 1}, {"sqlite", lockmode.Optimistic, "", 1},
			{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3},
			{"mysql", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.Optimistic, "", 3},
		},
	}
}

// followsLeaps returns the flags of a service that follows every leap of the clock at
// once.
func followsLeaps() []string { return []string{"--clock-leap", "0"} }

// clocksApart is a campaign whose instances have their own clocks: one is 90 s behind
// the database's, one 90 s ahead.
func clocksApart() Experiment {
	return Experiment{
		Name: "campaign, clocks of the instances 90 s apart from the database's", Number: 15, clock: stage.ClockOfDatabase, points: true, own: true,
		run: underCampaign((*campaign).keepTime), places: at(3, "postgres", "mysql"),
	}
}

// clockNear is the maximum difference of a time from the database's: a request may wait
// in a queue, and the expected time is an estimate.
const clockNear = 2 * time.Second

// keepTime demands that awards have the times of their requests, by the clock of the
// database, which is not moved.
func (c *campaign) keepTime() error {
	c.shows = nil // nothing is planned
	c.Wait(3 * time.Second)
	far := 0
	for _, o := range c.History.Ops() {
		if o.Pool != c.pool || !o.Won() || o.Replayed {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, o.Awards[0].At)
		c.Must(err)
		from, to := c.History.Time(o.Call).Add(-clockNear), c.History.Time(o.Return).Add(clockNear)
		if at.Before(from) || at.After(to) {
			far++
			c.Verdict.Say(history.Fault, "an award of %v, asked for from %v to %v: %s", at, from.UTC(), to.UTC(), &o)
		}
	}
	c.Note("%d of the awards are not of the database's time", far)
	return nil
}

// clockStep is the time between two items of a burst that come due without a leap of
// the clock.
const clockStep = 70 * time.Millisecond

func (c *campaign) moveClock() error {
	midnight, err := c.toMidnight()
	c.Must(err)
	c.Must(c.overBurst(midnight.Add(-5*clockStep), clockStep))
	// Ahead by five hours, past the items in between.
	hours := c.offset() + 5*time.Hour
	if _, err := c.burst(c.now().Add(time.Hour), 20*time.Minute); err != nil {
		return err
	}
	c.Must(c.setClock(hours))
	c.Must(c.awaitDone())
	// Back by three hours: the pool's time stops, and an item planned after it comes
	// due when the clock has caught up.
	high := c.now()
	c.Sleep(300, 600)
	c.Must(c.setClock(hours - 3*time.Hour))
	c.Sleep(1000, 1500)
	from := high.Add(10 * time.Minute)
	if _, err := c.burst(from, clockStep); err != nil {
		return err
	}
	c.Must(c.setClock(c.offset() + from.Sub(c.now()).Truncate(time.Second)))
	c.Must(c.await(from.Add(12 * clockStep)))
	c.Must(c.awaitDone())
	return c.setClock(0)
}

// toMidnight sets the clock to shortly before the next midnight of the zone.
func (c *campaign) toMidnight() (time.Time, error) {
	berlin, err := rules.ParseZone("Europe/Berlin")
	c.Must(err)
	year, month, day := c.now().In(berlin).Date()
	midnight := time.Date(year, month, day+1, 0, 0, 0, 0, berlin)
	return midnight, c.setClock(midnight.Add(-3 * time.Second).Sub(c.now()).Truncate(time.Second))
}

// overBurst plans a burst, and waits until the clock is past it.
func (c *campaign) overBurst(from time.Time, step time.Duration) error {
	last, err := c.burst(from, step)
	c.Must(err)
	c.Must(c.await(last.Add(time.Second)))
	return c.awaitDone()
}

// offset returns the difference of the clock from the machine's.
func (c *campaign) offset() time.Duration { return time.Duration(c.moved.Load()) }

// setClock sets that difference.
func (c *campaign) setClock(offset time.Duration) error {
	seconds := int64(offset / time.Second)
	c.Must(c.ClockMoved.Set(fmt.Sprintf("%+ds", seconds)))
	c.moved.Store(seconds * int64(time.Second))
	if c.Kind == "sqlite" {
		return nil // the file is read whenever the time is read
	}
	return c.clockIsOff(seconds)
}

const (
	// dayGold is spread over the day; dayDraws is the number of draws in each hour of
	// it.
	dayGold, dayDraws = 240, 260
	// dayRegulars is the number of users who draw again each hour; every other user
	// draws once.
	dayRegulars = 20
	ticketKey   = "the key of the faults' tickets.."
)

// dayRules are the rules of docs/campaign-guide.md, of a complete campaign: losing
// tickets, three draws a day, gold once a week, orders that draw once, and a budget per
// day.
const dayRules = `{"fallback":"none","win":"1/50","zone":"Europe/Berlin","tickets":true,"budget":{"max":"5000.00","per":"day"},
	"limits":[{"of":"draws","max":3,"per":"day"},{"of":"prize","prize":"gold","max":1,"per":"week"}]}`

// campaignDay is a campaign from its simulation to the hour before its end, by the
// database's clock. It has three instances if the database is a server.
func campaignDay() Experiment {
	return Experiment{
		Name: "campaign of one day, with tickets", places: everywhere(3), clock: stage.ClockOfDatabase, points: true, own: true, flags: followsLeaps(),
		run: duringDays("spring", []string{"budget"}, []history.Prize{{ID: "gold"}, {ID: "none"}}, (*day).prepare, (*day).open, (*day).pass),
	}
}

// duringDays returns a run of the steps of a campaign, which is then judged. shows are the
// redirects that must occur.
func duringDays(pool string, shows []string, prizes []history.Prize, steps ...func(*day) error) func(*trial) error {
	return func(t *trial) error {
		d := &day{campaign: campaign{trial: t, pool: t.Pool(pool), begun: time.Now(), shows: shows}}
		t.Made[d.pool] = prizes
		for _, step := range steps {
			if err := step(d); err != nil {
				return err
			}
		}
		t.Judges = append(t.Judges, d.judge)
		return nil
	}
}

type day struct {
	campaign
	opens time.Time
	users atomic.Int64
}

// prepare makes the preparations of an operator for the campaign: it creates, simulates
// and plans the campaign by commands, and starts the instances with the tickets' keys.
func (d *day) prepare() error {
	d.opensAt(10)
	d.Ticket = d.ticket
	keys := filepath.Join(d.Site.TempDir(), "keys.json")
	jwks := fmt.Sprintf(`{"keys":[{"kty":"oct","kid":"k","k":%q}]}`, base64.RawURLEncoding.EncodeToString([]byte(ticketKey)))
	d.Must(os.WriteFile(keys, []byte(jwks), 0o600))
	from, to := d.opens.Format(time.RFC3339), d.opens.Add(24*time.Hour).Format(time.RFC3339)
	return d.prepareBy(dayRules, [][]string{
		{"pool", "create", d.pool, "--state", "paused", "--prize", "id=gold,value=200.00,stock=0", "--prize", "id=none,kind=blank"},
		{"agenda", "spread", "--pool", d.pool, "--prize", "gold", "--units", fmt.Sprint(dayGold), "--from", from, "--to", to, "--random"},
		{"agenda", "add", "--pool", d.pool, "--at", from, "--state", "open"},
		{"simulate", "--pool", d.pool, "--draws", "6000", "--users", "2000", "--rate", "4/m", "--from", from},
	}, "--ticket-keys", keys)
}

// opensAt makes the campaign open at an hour of the day after tomorrow.
func (d *day) opensAt(hour int) {
	berlin, err := rules.ParseZone("Europe/Berlin")
	d.Must(err)
	year, month, today := time.Now().In(berlin).Date()
	d.opens = time.Date(year, month, today+2, hour, 0, 0, 0, berlin)
}

// prepareBy runs commands while no instance runs. The first command creates the pool, with
// these rules. Then it starts the instances with more flags.
func (d *day) prepareBy(document string, commands [][]string, flags ...string) error {
	for _, i := range d.Instances {
		d.Must(i.Stop())
	}
	file := filepath.Join(d.Site.TempDir(), "rules.json")
	d.Must(os.WriteFile(file, []byte(document), 0o600))
	commands[0] = append(commands[0], "--rules", file)
	for _, command := range commands {
		d.Must(d.command(command...))
	}
	for _, i := range d.Instances {
		i.Args = append(i.Args, flags...)
		d.Must(i.Again(d.Ctx))
	}
	return nil
}

func (d *day) command(args ...string) error {
	output, err := exec.CommandContext(d.Ctx, filepath.Join(stage.Bin, stage.Released), append(args, "--database", d.URL)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, output)
	}
	return nil
}

// ticket signs a ticket for an order.
func (d *day) ticket(o *history.Op) string {
	if o.Pool != d.pool {
		return ""
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"pool": o.Pool, "sub": o.User, "jti": o.Key, "exp": d.opens.Add(72 * time.Hour).Unix(), "count": o.Count,
	})
	token.Header["kid"] = "k"
	signed, err := token.SignedString([]byte(ticketKey))
	if err != nil {
		d.Fatal(err)
	}
	return signed
}

func (d *day) open() error {
	d.Must(d.setClock(time.Until(d.opens) - 2*time.Second))
	for _, o := range d.atOnce(d.orders(60)) {
		if o.Won() && o.Awards[0].At < d.opens.UTC().Format("2006-01-02T15:04:05.000000Z") {
			d.Verdict.Say(history.DrewClosed, "before ten o'clock: %s", &o)
		}
	}
	return d.await(d.opens)
}

// pass goes through the day hour by hour. Some orders are sent repeatedly.
func (d *day) pass() error {
	for hour := range 24 {
		d.Must(d.setClock(time.Until(d.opens.Add(time.Duration(hour)*time.Hour)) + 2*time.Second))
		const atOnce = 13
		for n := 0; n < dayDraws; n += atOnce {
			ops := d.orders(atOnce)
			if n == 0 {
				ops = d.sameOrder(20)
			}
			client.Parallel(len(ops), func(n int) { d.Send(d.Ctx, ops[n]) })
		}
	}
	d.Must(d.setClock(time.Until(d.opens.Add(24*time.Hour)) + 2*time.Second))
	d.Must(d.awaitDone())
	d.Recover(time.Now())
	return nil
}

// orders returns draws of new users and of regulars.
func (d *day) orders(n int) []history.Op {
	return d.drawsOf(n, func() string {
		if guest := fmt.Sprint("guest-", d.users.Add(1)/3); d.Rand.IntN(5) != 0 {
			return guest
		}
		return fmt.Sprint("regular-", d.Rand.IntN(dayRegulars))
	})
}

// drawsOf returns n draws, each of the user that user returns.
func (d *day) drawsOf(n int, user func() string) []history.Op {
	ops := make([]history.Op, n)
	for k := range ops {
		ops[k] = history.Op{Kind: history.Draw, Pool: d.pool, Key: d.Key(), User: user(), Count: 1, Client: k, Instance: rand.IntN(len(d.Instances))} //nolint:gosec // any
	}
	return ops
}

// sameOrder returns one order n times.
func (d *day) sameOrder(n int) []history.Op {
	ops := make([]history.Op, n)
	one := d.orders(1)[0]
	for k := range ops {
		ops[k] = one
		ops[k].Client, ops[k].Instance = k, k%len(d.Instances)
	}
	return ops
}

const thousandsItems = 10_000

// thousandsDue makes thousands of items come due in one second. Meanwhile it kills
// instances, one before and one after the commit of some items.
func thousandsDue() Experiment {
	return Experiment{
		Name: "campaign, 10000 items due, service killed among them", points: true, own: true, run: underCampaign((*campaign).thousands),
		places: []place{
			{"sqlite", lockmode.ForUpdate, "", 1},
			{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3},
			{"mysql", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.Optimistic, "", 3},
		},
	}
}

func (c *campaign) thousands() error {
	from := c.now().Add(6 * time.Second).Truncate(time.Second)
	c.Must(c.importItems(from))
	c.Must(c.killAmong(from))
	c.Must(c.awaitDone())
	c.Judges = append(c.Judges, c.addsUp)
	return nil
}

// killAmong kills two instances, or one twice, while items are due from the given time.
func (c *campaign) killAmong(from time.Time) error {
	first := c.Any()
	second := c.Instances[(first.Number+1)%len(c.Instances)]
	c.Must(first.Arm(fault.DueBeforeCommit, "kill"))
	first.Expect()
	if second != first {
		second.Expect()
		c.Must(second.Arm(fault.DueAfterCommit, "kill"))
	}
	c.Must(c.await(from))
	c.Must(c.killed(first))
	if second == first {
		first.Expect()
		c.Must(first.Arm(fault.DueAfterCommit, "kill"))
	}
	return c.killed(second)
}

func (c *campaign) killed(i *stage.Instance) error {
	c.Must(i.AwaitTaken())
	if err := i.Process.AwaitEnd(); err == nil {
		return fmt.Errorf("instance %d ended in good order though it was killed", i.Number)
	}
	return i.Again(c.Ctx)
}

// importItems plans the items by the command. The instance of a file is stopped
// meanwhile, because a file has one owner.
func (c *campaign) importItems(from time.Time) error {
	var file strings.Builder
	file.WriteString("at,prize,delta,reason\n")
	for n := range thousandsItems { // not in the order of their times
		at := from.Add(time.Duration(n*7919%thousandsItems) * time.Second / thousandsItems)
		fmt.Fprintf(&file, "%s,%s,1,moment %d\n", at.UTC().Format("2006-01-02T15:04:05.000000Z"), []string{"gold", "tin"}[n%2], n)
	}
	name := filepath.Join(c.Site.TempDir(), "moments.csv")
	c.Must(os.WriteFile(name, []byte(file.String()), 0o600))
	if c.Kind == "sqlite" {
		c.Must(c.Instances[0].Stop())
	}
	output, err := exec.CommandContext(c.Ctx, filepath.Join(stage.Bin, stage.Released), "agenda", "import", "--pool", c.pool, "--database", c.URL, name).CombinedOutput()
	if err != nil {
		return fmt.Errorf("agenda import: %w: %s", err, output)
	}
	if c.Kind == "sqlite" {
		return c.Instances[0].Again(c.Ctx)
	}
	return nil
}

// addsUp demands that the pool has the stock of all items.
func (c *campaign) addsUp() error {
	var pool struct {
		Prizes []struct {
			Prize   string
			Stocked int64
		}
	}
	c.Must(harness.FetchJSON(c.Ctx, c.Instances[0].URL()+"/admin/pools/"+c.pool+"/audit", &pool))
	var stocked int64
	for _, p := range pool.Prizes {
		if p.Prize != "none" {
			stocked += p.Stocked
		}
	}
	if stocked != campaignGold+campaignTin+thousandsItems {
		c.Verdict.Say(history.Fault, "%d units are stocked, and %d by all items", stocked, campaignGold+campaignTin+thousandsItems)
	}
	return nil
}
