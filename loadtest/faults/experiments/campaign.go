package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// campaignWorkers is the number of clients that draw from a campaign's pool at
	// once.
	campaignWorkers = 12
	// campaignLead is how far ahead the first item of a burst is planned. That is long
	// enough to plan the other items, even on a busy machine.
	campaignLead = 1500 * time.Millisecond
	// campaignUsers is the number of users who draw at the same time. Each second,
	// campaignNew users are replaced by new ones.
	campaignUsers, campaignNew = 30, 10
	// campaignGold and campaignTin are the initial stock.
	campaignGold, campaignTin = 100, 3000
)

// campaign is a pool under load that has losing tickets, limits, a guarantee, a budget
// and an agenda.
type campaign struct {
	*trial
	pool string
	// moved is the difference of the database's clock from the machine's.
	moved atomic.Int64
	// bursts is the number of bursts planned so far.
	bursts int
	// shows are the redirects that must occur: a campaign without them proves nothing.
	shows []string
	begun time.Time
	end   context.CancelFunc
	all   sync.WaitGroup
}

// campaignRules returns the rules of a campaign; a burst changes the budget.
func campaignRules(budget int) string {
	return fmt.Sprintf(`{"fallback":"none","win":"1/2","zone":"Europe/Berlin","guarantee":{"after":4,"prize":"tin"},
		"limits":[{"of":"draws","max":6,"per":"day"},{"of":"draws","max":4,"per":"2s"},{"of":"wins","max":3},{"of":"prize","prize":"gold","max":1,"per":"hour"}],
		"budget":{"max":"%d.00","per":"day"}}`, budget)
}

// newCampaign creates the pool, which is judged at the end with all others.
func newCampaign(t *trial) (*campaign, error) {
	c := &campaign{trial: t, pool: t.Pool("campaign"), begun: time.Now(), shows: []string{"limit", "budget"}}
	prizes := []map[string]any{
		{"id": "gold", "name": "Gold", "value": "3.00", "stock": campaignGold},
		{"id": "tin", "name": "Tin", "value": "0.50", "stock": campaignTin},
		{"id": "none", "name": "No win", "kind": "blank"},
	}
	if err := t.Operate(http.MethodPost, "/admin/pools", map[string]any{
		"id": c.pool, "name": "Campaign", "prizes": prizes, "rules": json.RawMessage(campaignRules(50)),
	}, http.StatusCreated); err != nil {
		return nil, err
	}
	t.Made[c.pool] = []history.Prize{{ID: "gold"}, {ID: "tin"}, {ID: "none"}}
	t.Judges = append(t.Judges, c.judge)
	return c, nil
}

func underCampaign(fault func(c *campaign) error) func(*trial) error {
	return func(t *trial) error {
		c, err := newCampaign(t)
		if err != nil {
			return err
		}
		c.start()
		defer c.stop()
		t.Sleep(200, 400)
		if err := fault(c); err != nil {
			return err
		}
		t.Recover(time.Now())
		t.Sleep(200, 400)
		return nil
	}
}

func (c *campaign) start() {
	ctx, end := context.WithCancel(c.Ctx)
	c.end = end
	for n := range campaignWorkers {
		w := c.Worker(n)
		c.all.Go(func() {
			for ctx.Err() == nil {
				c.Send(c.Ctx, c.next(w))
				time.Sleep(time.Duration(w.Rand.Int64N(int64(12 * time.Millisecond))))
			}
		})
	}
}

func (c *campaign) stop() {
	c.end()
	c.all.Wait()
}

func (c *campaign) next(w *client.Worker) history.Op {
	o := history.Op{Kind: history.Draw, Pool: c.pool, Key: c.Key(), Count: 1, Client: w.Number, Instance: w.Rand.IntN(len(c.Instances))}
	if w.Rand.IntN(6) == 0 {
		o.Count = 1 + w.Rand.IntN(4)
	}
	o.User = fmt.Sprint("player-", int(time.Since(c.begun)/time.Second)*campaignNew+w.Rand.IntN(campaignUsers))
	return o
}

func (c *campaign) now() time.Time { return time.Now().Add(time.Duration(c.moved.Load())) }

func (c *campaign) plan(at time.Time, item map[string]any) error {
	item["at"] = at.UTC().Format("2006-01-02T15:04:05.000000Z")
	return c.Admin(http.MethodPost, "/admin/pools/"+c.pool+"/agenda", item, http.StatusCreated)
}

// burst plans stock, a pause and new rules, in this order, from a given time. It
// returns the time of the last item.
func (c *campaign) burst(from time.Time, step time.Duration) (time.Time, error) {
	c.bursts++
	at := from
	for n := range 12 {
		item := map[string]any{"prize": []string{"gold", "tin"}[n%2], "delta": 1 + n%3, "reason": fmt.Sprintf("burst %d, %d", c.bursts, n)}
		switch n {
		case 4:
			item = map[string]any{"state": "paused"}
		case 5:
			item = map[string]any{"state": "open"}
		case 8:
			item = map[string]any{"rules": json.RawMessage(campaignRules(50 + 10*c.bursts))}
		}
		var err error
		if at, err = c.planSoon(at, item); err != nil {
			return at, err
		}
		if n < 11 {
			at = at.Add(step)
		}
	}
	return at, nil
}

// planSoon plans an item for a time. If that time passed during the request, as may
// happen on a busy machine, it plans the item for a later time. It returns the time of
// the item.
func (c *campaign) planSoon(at time.Time, item map[string]any) (time.Time, error) {
	for lead := campaignLead; ; {
		err := c.plan(at, item)
		answer, answered := errors.AsType[harness.Unwanted](err)
		isLate := !at.After(c.now())
		switch {
		case err == nil || c.Ctx.Err() != nil:
			return at, err
		case !isLate && answered && answer.Status < http.StatusInternalServerError:
			return at, err
		case !isLate:
			c.Wait(20 * time.Millisecond)
			continue
		}
		at = c.now().Add(lead)
		lead *= 2
	}
}

// awaitDone waits until no item is open.
func (c *campaign) awaitDone() error {
	said := stage.Within(c.Ctx, client.RecoverMax+campaignLead+time.Duration(c.Lag.Load()), func() error {
		var open struct{ Items []history.Item }
		for _, i := range c.Instances {
			if err := harness.FetchJSON(c.Ctx, i.URL()+"/admin/pools/"+c.pool+"/agenda?open=true", &open); err == nil && len(open.Items) == 0 {
				return nil
			}
		}
		return fmt.Errorf("%d items are open", len(open.Items))
	})
	if said != nil {
		c.Verdict.Say(history.ItemUndone, "%v", said)
	}
	return c.Ctx.Err()
}

// judge checks the log against the rules, by this program's judgement and by the deep
// audit of the service.
func (c *campaign) judge() error {
	var log []history.Entry
	var agenda []history.Item
	err := stage.Within(c.Ctx, client.SettleMax, func() (err error) { // a 503 contains no log
		log, agenda, err = c.read()
		return err
	})
	c.Must(err)
	c.tally(log)
	history.Campaign(&c.Verdict, c.pool, log, agenda, c.now())
	return c.auditDeep()
}

// tally counts events of a campaign: a campaign that reached no limit proves nothing.
func (c *campaign) tally(log []history.Entry) {
	why := map[string]int{}
	for _, e := range log {
		if e.Redirect != nil {
			why[e.Redirect.Why]++
		}
	}
	refused := 0
	for _, o := range c.History.Ops() {
		if o.Code == "limit-reached" {
			refused++
		}
	}
	c.Note("%d entries, redirects %v, %d refused at a limit", len(log), why, refused)
	if refused == 0 || slices.ContainsFunc(c.shows, func(s string) bool { return why[s] == 0 }) {
		c.Verdict.Say(history.Fault, "a limit or the budget was not reached, so that nothing was shown")
	}
}

func (c *campaign) read() (log []history.Entry, agenda []history.Item, err error) {
	at := c.Instances[0].URL() + "/admin/pools/" + c.pool
	text, status, err := harness.Call(c.Ctx, http.MethodGet, at+"/log", "", "Accept", "application/x-ndjson")
	if err != nil || status != http.StatusOK {
		return nil, nil, fmt.Errorf("the log is answered %d: %w", status, err)
	}
	for line := range bytes.Lines(text) {
		var e history.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", line, err)
		}
		log = append(log, e)
	}
	for after := int64(0); ; {
		var page struct {
			Items []history.Item
			Next  *int64
		}
		if err := harness.FetchJSON(c.Ctx, fmt.Sprintf("%s/agenda?limit=1000&after=%d", at, after), &page); err != nil {
			return nil, nil, err
		}
		agenda = append(agenda, page.Items...)
		if page.Next == nil {
			return log, agenda, nil
		}
		after = *page.Next
	}
}

// auditDeep runs the deep audit of the released program. The instance of a file is
// stopped meanwhile.
func (c *campaign) auditDeep() error {
	if c.Kind == "sqlite" {
		c.Must(c.Instances[0].Stop())
		defer func() { _ = c.Instances[0].Again(c.Ctx) }() // if it does not start, the end of the cell reports that
	}
	output, err := exec.CommandContext(c.Ctx, filepath.Join(stage.Bin, stage.Released), "audit", "--deep", "--pool", c.pool, "--database", c.URL).CombinedOutput()
	if err != nil || !strings.Contains(string(output), " 0 violations") {
		c.Verdict.Say(history.AuditDiffers, "the deep audit: %v: %.600s", err, output)
	}
	return nil
}

func campaignFaults() []Experiment {
	return []Experiment{campaignUndisturbed(), campaignKilled(), thousandsDue(), campaignClock(), clocksApart(), campaignDay(), advent()}
}

// campaignPoints returns the fault points at which instances are killed.
func campaignPoints() []fault.Point {
	return []fault.Point{fault.BeforeWrite, fault.BeforeCommit, fault.AfterCommit, fault.DueBeforeCommit, fault.DueAfterCommit}
}

// campaignKilled kills instances at every fault point, while items of a campaign's
// agenda are due.
func campaignKilled() Experiment {
	return Experiment{
		Name: "campaign, service killed at every point", places: everywhere(3), points: true, own: true,
		run: underCampaign(func(c *campaign) error {
			for _, p := range campaignPoints() {
				if err := c.killedAt(p); err != nil {
					return fmt.Errorf("%s: %w", p, err)
				}
			}
			return c.awaitDone()
		}),
	}
}

// killedAt kills one instance at a point; afterwards all clients repeat the same draws.
func (c *campaign) killedAt(p fault.Point) error {
	from := c.History.Now()
	i := c.Any()
	i.Expect()
	for tries := 1; ; tries++ {
		last, err := c.burst(c.now().Add(campaignLead), 70*time.Millisecond)
		c.Must(err)
		c.Must(c.await(last.Add(-700 * time.Millisecond)))
		c.Must(i.Arm(p, "kill"))
		if err = i.AwaitTaken(); err == nil {
			break
		}
		if tries == 4 {
			return err // other instances always carried out the items first
		}
	}
	if err := i.Process.AwaitEnd(); err == nil {
		return fmt.Errorf("instance %d ended in good order though it was killed", i.Number)
	}
	c.Sleep(100, 400)
	c.Must(i.Again(c.Ctx))
	c.askAgain(from)
	return nil
}

func (c *campaign) await(at time.Time) error {
	select {
	case <-time.After(at.Sub(c.now())):
	case <-c.Ctx.Done():
	}
	return c.Ctx.Err()
}

// askAgain repeats a draw that won nothing, and a draw that is in doubt, a hundred
// times at once on all instances: the check requires the same answer each time.
func (c *campaign) askAgain(from time.Duration) {
	var lost, doubt *history.Op
	for _, o := range c.History.Ops() {
		switch {
		case o.Pool != c.pool || o.Call < from:
		case o.Won() && len(o.Awards) == 1 && o.Awards[0].Prize == "none":
			lost = &o
		case o.Unknown():
			doubt = &o
		}
	}
	for _, o := range []*history.Op{lost, doubt} {
		if o == nil {
			continue
		}
		same := make([]history.Op, 100)
		for n := range same {
			same[n] = history.Op{Kind: o.Kind, Pool: o.Pool, Key: o.Key, User: o.User, Count: o.Count, Client: 3000 + n, Instance: n % len(c.Instances)}
		}
		c.atOnce(same)
	}
}

// campaignUndisturbed is a campaign without a fault. It is for broken programs, which
// must fail even without one.
func campaignUndisturbed() Experiment {
	return Experiment{Name: "campaign", places: at(3, "postgres"), own: true, run: underCampaign((*campaign).undisturbed)}
}

// ofCampaigns returns the controls of campaigns.
func ofCampaigns() []Cell {
	return []Cell{
		doubled(campaignUndisturbed(), history.CountsBefore, place{"postgres", "optimistic", "", 3}, history.LimitPassed),
		doubled(campaignUndisturbed(), history.LateTicker, place{"postgres", "optimistic", "", 3}, history.DuePassed),
		doubled(clocksApart(), history.OwnClocks, place{"postgres", "optimistic", "", 3}),
	}
}

func (c *campaign) undisturbed() error {
	for range 3 {
		last, err := c.burst(c.now().Add(campaignLead), 70*time.Millisecond)
		c.Must(err)
		c.Must(c.await(last))
	}
	return c.awaitDone()
}
