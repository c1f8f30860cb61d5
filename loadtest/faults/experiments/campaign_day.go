package experiments

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"drawsvc/internal/draw/rules"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

const (
	// dayGold is spread over the day, dayDraws are asked for in each hour of it.
	dayGold, dayDraws = 240, 260
	// dayRegulars come again each hour, everybody else once.
	dayRegulars = 20
	ticketKey   = "the key of the faults' tickets.."
)

// dayRules are those of docs/campaign-guide.md, of a whole campaign: losing tickets, three
// draws a day, gold once a week, orders that draw once, and so much a day.
const dayRules = `{"fallback":"none","win":"1/50","zone":"Europe/Berlin","tickets":true,"budget":{"max":"5000.00","per":"day"},
	"limits":[{"of":"draws","max":3,"per":"day"},{"of":"prize","prize":"gold","max":1,"per":"week"}]}`

// campaignDay is a campaign from its simulation to the hour before its end, at
// the database's clock, with three instances where that is a server.
func campaignDay() Experiment {
	return Experiment{
		Name: "campaign of one day, with tickets", places: everywhere(3), clock: stage.ClockOfDatabase, points: true, own: true, flags: followsLeaps(),
		run: func(t *trial) error {
			d := &day{campaign: campaign{trial: t, pool: t.Pool("spring"), begun: time.Now(), shows: []string{"budget"}}}
			t.Made[d.pool] = []history.Prize{{ID: "gold"}, {ID: "none"}}
			t.Ticket = d.ticket
			for _, step := range []func() error{d.prepare, d.open, d.pass} {
				if err := step(); err != nil {
					return err
				}
			}
			t.Judges = append(t.Judges, d.judge)
			return nil
		},
	}
}

type day struct {
	campaign
	opens time.Time
	users atomic.Int64
}

// prepare does what an operator does before the campaign: it is made, simulated
// and planned by commands, and the instances are started with the tickets' keys.
func (d *day) prepare() error {
	berlin, err := rules.ParseZone("Europe/Berlin")
	if err != nil {
		return err
	}
	year, month, today := time.Now().In(berlin).Date()
	d.opens = time.Date(year, month, today+2, 10, 0, 0, 0, berlin)
	for _, i := range d.Instances {
		if err := i.Stop(); err != nil {
			return err
		}
	}
	folder := d.Site.TempDir()
	rules, keys := filepath.Join(folder, "rules.json"), filepath.Join(folder, "keys.json")
	if err := os.WriteFile(rules, []byte(dayRules), 0o600); err != nil {
		return err
	}
	jwks := fmt.Sprintf(`{"keys":[{"kty":"oct","kid":"k","k":%q}]}`, base64.RawURLEncoding.EncodeToString([]byte(ticketKey)))
	if err := os.WriteFile(keys, []byte(jwks), 0o600); err != nil {
		return err
	}
	from, to := d.opens.Format(time.RFC3339), d.opens.Add(24*time.Hour).Format(time.RFC3339)
	for _, command := range [][]string{
		{"pool", "create", d.pool, "--state", "paused", "--prize", "id=gold,value=200.00,stock=0", "--prize", "id=none,kind=blank", "--rules", rules},
		{"agenda", "spread", "--pool", d.pool, "--prize", "gold", "--units", fmt.Sprint(dayGold), "--from", from, "--to", to, "--random"},
		{"agenda", "add", "--pool", d.pool, "--at", from, "--state", "open"},
		{"simulate", "--pool", d.pool, "--draws", "6000", "--users", "2000", "--rate", "4/m", "--from", from},
	} {
		if err := d.command(command...); err != nil {
			return err
		}
	}
	for _, i := range d.Instances {
		i.Args = append(i.Args, "--ticket-keys", keys)
		if err := i.Again(d.Ctx); err != nil {
			return err
		}
	}
	return nil
}

// command runs the released program on the database.
func (d *day) command(args ...string) error {
	output, err := exec.CommandContext(d.Ctx, filepath.Join(stage.Bin, stage.Released), append(args, "--database", d.URL)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, output)
	}
	return nil
}

// ticket signs a chance for an order.
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

// open draws before the opening and behind it.
func (d *day) open() error {
	if err := d.setClock(time.Until(d.opens) - 2*time.Second); err != nil {
		return err
	}
	for _, o := range d.atOnce(d.orders(60)) {
		if o.Won() && o.Awards[0].At < d.opens.UTC().Format("2006-01-02T15:04:05.000000Z") {
			d.Verdict.Say(history.DrewClosed, "before ten o'clock: %s", &o)
		}
	}
	return d.await(d.opens)
}

// pass goes through the day by the hour. Some orders are sent again and again.
func (d *day) pass() error {
	for hour := range 24 {
		if err := d.setClock(time.Until(d.opens.Add(time.Duration(hour)*time.Hour)) + 2*time.Second); err != nil {
			return err
		}
		const atOnce = 13
		for n := 0; n < dayDraws; n += atOnce {
			ops := d.orders(atOnce)
			if n == 0 {
				ops = d.sameOrder(20)
			}
			client.Parallel(len(ops), func(n int) { d.Send(d.Ctx, ops[n]) })
		}
	}
	if err := d.setClock(time.Until(d.opens.Add(24*time.Hour)) + 2*time.Second); err != nil {
		return err
	}
	if err := d.awaitDone(); err != nil {
		return err
	}
	d.Recover(time.Now())
	return nil
}

// orders are of users who are new, and of regulars.
func (d *day) orders(n int) []history.Op {
	ops := make([]history.Op, n)
	for k := range ops {
		user := fmt.Sprint("guest-", d.users.Add(1)/3)
		if d.Rand.IntN(5) == 0 {
			user = fmt.Sprint("regular-", d.Rand.IntN(dayRegulars))
		}
		ops[k] = history.Op{Kind: history.Draw, Pool: d.pool, Key: d.Key(), User: user, Count: 1, Client: k, Instance: rand.IntN(len(d.Instances))} //nolint:gosec // any
	}
	return ops
}

// sameOrder is one order, n times.
func (d *day) sameOrder(n int) []history.Op {
	ops := make([]history.Op, n)
	one := d.orders(1)[0]
	for k := range ops {
		ops[k] = one
		ops[k].Client, ops[k].Instance = k, k%len(d.Instances)
	}
	return ops
}
