package history

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones, for machines without them
)

// The rules of campaigns. They are judged only from the log, by code of this package:
// the service's audit uses the code that decides draws.
const (
	LimitPassed  = "limit-passed"      // an award beyond a user's limit
	BudgetPassed = "budget-passed"     // an award beyond the budget
	DuePassed    = "due-passed"        // an award or a move at or after the time of an item that is not done
	ItemOnce     = "item-once"         // an item without exactly one entry, out of order, or with an entry before its time
	ItemUndone   = "item-undone"       // an item that has been due for longer than itemUndoneMax
	TimeFell     = "time-fell"         // an entry that is earlier than the previous entry
	DrewClosed   = "drew-while-closed" // an award of a pool that is not open
	MomentPassed = "moment-passed"     // an award that should have been a pending winning moment
)

// itemUndoneMax is the maximum time for which an item may be due.
const itemUndoneMax = 10 * time.Second

// Entry is an entry of a pool's log in the form in which it is streamed.
type Entry struct {
	Kind    string    `json:"kind"`
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	// User, Value and Win belong to an award; Prize belongs to an award or a move.
	User  string `json:"user"`
	Prize string `json:"prize"`
	Value string `json:"value"`
	Win   bool   `json:"win"`
	// Redirect belongs to an award that replaces another.
	Redirect *struct{ Why string } `json:"redirect"`
	// Delta and Reason belong to a move.
	Delta  int64  `json:"delta"`
	Reason string `json:"reason"`
	// What and Body belong to a change.
	What string          `json:"what"`
	Body json.RawMessage `json:"body"`
}

// Item is an item of an agenda, in the form in which it is listed.
type Item struct {
	Item   int64           `json:"item"`
	At     time.Time       `json:"at"`
	State  string          `json:"state"`
	Prize  string          `json:"prize"`
	Delta  int64           `json:"delta"`
	Reason string          `json:"reason"`
	Rules  json.RawMessage `json:"rules"`
	// Moment is the prize of a winning moment.
	Moment string `json:"moment"`
	// Done is the version of its entry, 0 while it is open.
	Done int64 `json:"done"`
}

// campaign replays the log of a pool whose rules always name the same limits, so that
// every award counts. No item may fail. A pool with winning moments has no limits of
// prizes or wins.
type campaign struct {
	v     *Verdict
	pool  string
	last  Entry
	state string
	rules ruleBook
	zone  *time.Location
	// turns are the times of the awards that a user's limits count; spent is the sum of
	// what was awarded.
	turns map[string][]time.Time
	spent []spending
	// items are in the order in which they are due; next is the first item without an
	// entry.
	items   []Item
	next    int
	entries map[int64]Entry
	reasons map[string]int
	// done has the items by the versions of their entries; pending are the prizes of
	// winning moments that wait for a draw.
	done    map[int64]Item
	pending []string
	// values are the values of prizes, in cents.
	values map[string]int64
}

type spending struct {
	at    time.Time
	cents int64
}

// Campaign judges the log and the agenda of a pool at a time of its database.
func Campaign(v *Verdict, pool string, log []Entry, agenda []Item, now time.Time) {
	c := campaign{v: v, pool: pool, zone: time.UTC, turns: map[string][]time.Time{}, items: slices.Clone(agenda), entries: map[int64]Entry{}, reasons: map[string]int{}, done: map[int64]Item{}, values: map[string]int64{}}
	slices.SortFunc(c.items, func(a, b Item) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Item, b.Item)) })
	for _, i := range c.items {
		if i.Done > 0 {
			c.done[i.Done] = i
		}
	}
	for _, e := range log {
		if e.Kind == "award" {
			c.values[e.Prize] = cents(e.Value)
		}
	}
	for _, e := range log {
		c.take(e)
	}
	c.end(now)
}

func (c *campaign) take(e Entry) {
	item, planned := c.done[e.Version]
	if e.At.Before(c.last.At) {
		c.v.Say(TimeFell, "pool %s: version %d is of %v, the one before it of %v", c.pool, e.Version, e.At, c.last.At)
	}
	c.last, c.entries[e.Version] = e, e
	for c.next < len(c.items) && c.items[c.next].Done > 0 && c.items[c.next].Done <= e.Version {
		c.next++
	}
	if e.Kind != "change" && !planned && c.next < len(c.items) && !c.items[c.next].At.After(e.At) {
		c.v.Say(DuePassed, "pool %s: the %s of version %d is of %v, and item %d of %v was not done", c.pool, e.Kind, e.Version, e.At, c.items[c.next].Item, c.items[c.next].At)
	}
	switch {
	case e.Kind == "award":
		c.award(e)
	case e.Kind == "move":
		c.reasons[e.Reason]++
		if item.Moment != "" {
			c.pending = append(c.pending, item.Moment)
		}
	case e.What == "rules":
		c.ruled(e)
	case e.What == "state" || e.What == "created":
		var body struct{ State string }
		_ = json.Unmarshal(e.Body, &body) // a damaged body opens nothing
		c.state = body.State
	}
}

func (c *campaign) ruled(e Entry) {
	var body struct{ Rules ruleBook }
	err := json.Unmarshal(e.Body, &body)
	c.rules, c.zone = body.Rules, time.UTC
	if err == nil {
		c.zone, err = time.LoadLocation(c.rules.Zone)
	}
	if err != nil {
		c.v.Say(Counters, "pool %s: the rules of version %d: %v", c.pool, e.Version, err)
	}
}

func (c *campaign) award(e Entry) {
	if c.state != "open" {
		c.v.Say(DrewClosed, "pool %s: the award of version %d was made while the pool was %q", c.pool, e.Version, c.state)
	}
	kinds := []string{"draws ", "prize " + e.Prize}
	if e.Win {
		kinds = append(kinds, "wins ")
	}
	for _, kind := range kinds {
		c.turns[kind+" "+e.User] = append(c.turns[kind+" "+e.User], e.At)
	}
	for _, l := range c.rules.Limits {
		kind := l.Of + " " + l.Prize
		if n := within(c.turns[kind+" "+e.User], e.At, l.Per, c.zone); slices.Contains(kinds, kind) && n > l.Max {
			c.v.Say(LimitPassed, "pool %s: the award of version %d is number %d of user %s under %+v", c.pool, e.Version, n, e.User, l)
		}
	}
	c.settleMoment(e)
	c.spend(e)
}

// settleMoment demands that an award gives the first pending moment that the budget
// allows.
func (c *campaign) settleMoment(e Entry) {
	for i, prize := range c.pending {
		if c.rules.Budget != nil && c.spentAt(e.At)+c.values[prize] > cents(c.rules.Budget.Max) {
			continue
		}
		if e.Prize != prize || e.Redirect == nil || e.Redirect.Why != "moment" {
			c.v.Say(MomentPassed, "pool %s: the award of version %d is %s, and a moment of %s was pending", c.pool, e.Version, e.Prize, prize)
		}
		c.pending = slices.Delete(c.pending, i, i+1)
		return
	}
	if e.Redirect != nil && e.Redirect.Why == "moment" {
		c.v.Say(MomentPassed, "pool %s: the award of version %d took a moment, and none could be given", c.pool, e.Version)
	}
}

func (c *campaign) spend(e Entry) {
	s := spending{e.At, cents(e.Value)}
	if s.cents == 0 {
		return
	}
	if c.spent = append(c.spent, s); c.rules.Budget == nil {
		return
	}
	if sum := c.spentAt(e.At); sum > cents(c.rules.Budget.Max) {
		c.v.Say(BudgetPassed, "pool %s: with the award of version %d %d cents are spent of %s", c.pool, e.Version, sum, c.rules.Budget.Max)
	}
}

// spentAt returns what was spent in the budget's window of a time, in cents.
func (c *campaign) spentAt(at time.Time) (sum int64) {
	for _, other := range slices.Backward(c.spent) {
		if !isWithin(other.at, at, c.rules.Budget.Per, c.zone) {
			break // the earlier ones are not in the window either
		}
		sum += other.cents
	}
	return sum
}

func (c *campaign) end(now time.Time) {
	last, planned := Item{}, map[string]int{}
	for _, i := range c.items {
		if i.Done > 0 {
			planned[i.Reason]++
		}
	}
	for _, i := range c.items {
		e := c.entries[i.Done]
		switch {
		case i.Done == 0 && now.Sub(i.At) > itemUndoneMax:
			c.v.Say(ItemUndone, "pool %s: item %d of %v is open at %v", c.pool, i.Item, i.At, now)
		case i.Done == 0:
		case !i.is(e) || e.At.Before(i.At):
			c.v.Say(ItemOnce, "pool %s: item %+v became %+v", c.pool, i, e)
		case i.Done <= last.Done:
			c.v.Say(ItemOnce, "pool %s: item %d of %v is version %d, item %d of %v before it is version %d", c.pool, i.Item, i.At, i.Done, last.Item, last.At, last.Done)
		case i.Reason != "" && c.reasons[i.Reason] != planned[i.Reason]:
			c.v.Say(ItemOnce, "pool %s: of %q %d items are done, and %d moves made", c.pool, i.Reason, planned[i.Reason], c.reasons[i.Reason])
		}
		if i.Done > 0 {
			last = i
		}
	}
}

func (i *Item) is(e Entry) bool {
	switch {
	case i.State != "":
		return e.What == "state" && strings.Contains(string(e.Body), `"`+i.State+`"`)
	case i.Moment != "":
		return e.Kind == "move" && e.Prize == i.Moment && e.Delta == 1 && e.Reason == "moment"
	case i.Prize != "":
		return e.Kind == "move" && e.Prize == i.Prize && e.Delta == i.Delta && e.Reason == i.Reason
	}
	return e.What == "rules"
}

type ruleBook struct {
	Limits []limit
	Budget *struct{ Max, Per string }
	Zone   string
}

type limit struct {
	Of, Prize, Per string
	Max            int
}

// within counts the times that are in the same window as last.
func within(times []time.Time, last time.Time, per string, zone *time.Location) (n int) {
	for _, at := range times {
		if isWithin(at, last, per, zone) {
			n++
		}
	}
	return n
}

// isWithin reports whether a time lies in the window of a later one. It compares dates,
// whereas the service searches for the first instant of a date.
func isWithin(at, last time.Time, per string, zone *time.Location) bool {
	here, there := at.In(zone), last.In(zone)
	switch per {
	case "":
		return true
	case "hour":
		return here.Format("2006-01-02T15 -0700") == there.Format("2006-01-02T15 -0700")
	case "day":
		return here.Format(time.DateOnly) == there.Format(time.DateOnly)
	case "week":
		y, w := here.ISOWeek()
		year, week := there.ISOWeek()
		return y == year && w == week
	case "month":
		return here.Format("2006-01") == there.Format("2006-01")
	}
	rolling, err := time.ParseDuration(per)
	return err != nil || !at.Before(last.Add(-rolling))
}

func cents(value string) int64 {
	n, _ := strconv.ParseInt(strings.Replace(value, ".", "", 1), 10, 64) // value has the contract's form; any other form counts as 0
	return n
}
