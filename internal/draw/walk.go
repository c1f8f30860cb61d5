package draw

import (
	"sort"
	"time"
)

// walk leads one urn through many draws in memory: what the database does for
// the service between two plans.
type walk struct {
	urn   *Urn
	plan  *Plan
	facts *Facts
	spent ledger
	// turnsMax is, by kind, how many turns of a subject can matter to a limit.
	turnsMax map[Counted]int64
	// before is what was spent in the present window before the plan's draw.
	before int64
}

func newWalk(u *Urn) *walk {
	w := &walk{urn: u, plan: u.newPlan(nil), facts: NewFacts(nil), turnsMax: map[Counted]int64{}}
	w.plan.facts = w.facts
	w.plan.players, w.plan.tallies = map[Player][]*tally{}, map[who]*tally{}
	return w
}

// expect says that rules will be in force at some time.
func (w *walk) expect(r *Rules) {
	for _, l := range r.Limits {
		if c := l.Counted(); !l.Per.IsEver() {
			w.turnsMax[c] = max(w.turnsMax[c], l.Max)
		}
	}
}

// setRules puts rules in force at a time, nil for none. What their budget's
// window has seen is summed anew.
func (w *walk) setRules(r *Rules, at time.Time) {
	w.urn.setTerms(r)
	w.urn.spending = Spending{}
	if r != nil && r.Budget != nil {
		start := r.Budget.Per.Start(at, r.Zone)
		w.urn.spending = Spending{From: start, Cents: w.spent.since(start)}
	}
}

// begin readies the plan for one draw of a player, who is at least known to have no
// turns.
func (w *walk) begin(player Player, at time.Time) {
	p := w.plan
	p.Awards, p.places, p.Turns, p.Spending = p.Awards[:0], p.places[:0], p.Turns[:0], Spending{}
	p.From = w.urn.Head
	clear(p.players)
	clear(p.tallies)
	for _, c := range w.urn.rules().Counted() {
		w.facts.begin(whoOf(player, c))
	}
	p.begin(at)
	w.before = p.Spending.Cents
}

// settle makes the plan's draw happen.
func (w *walk) settle() {
	u, p := w.urn, w.plan
	u.Version++
	u.At = p.At
	if t := u.terms; t != nil && t.Budget != nil {
		w.spent.add(p.At, p.Spending.Cents-w.before)
		u.spending = p.Spending
	}
	for _, turn := range p.Turns {
		t := w.facts.begin(who{turn.Subject, turn.Counted})
		t.add(turn)
		t.keep(w.turnsMax[turn.Counted])
	}
}

// Run leads an urn through draws of a request each, one after another.
type Run struct{ *walk }

// NewRun begins with the urn as it is. documents are all rules that will be in force.
func NewRun(u *Urn, documents []*Rules) *Run {
	r := &Run{newWalk(u)}
	for _, d := range documents {
		r.expect(d)
	}
	return r
}

// Draw decides and takes one unit for a request. The award is good until the next
// call. Errors: what refuses the request.
func (r *Run) Draw(q *Request, at time.Time) (*Award, error) {
	r.begin(q.Player(), at)
	if err := r.plan.refusal(&Ask{Request: *q}); err != nil {
		return nil, err
	}
	r.plan.take(q, 1)
	r.settle()
	return &r.plan.Awards[0], nil
}

// SetRules puts rules that fit the prizes in force at a time, nil for none.
func (r *Run) SetRules(rules *Rules, at time.Time) { r.setRules(rules, at) }

// Put sets a prize of the urn.
func (r *Run) Put(p Prize) { r.urn.put(p) }

// Prize is the prize with an id as it is now, nil for one that the urn does not have.
func (r *Run) Prize(id string) *Prize { return r.urn.prizeOf(id) }

// Spent is the value, in cents, that was issued under rules with a budget.
func (r *Run) Spent() int64 { return r.spent.total }

// ledger sums what was spent since any time of the last ledgerLength.
type ledger struct {
	// total is all that was spent; recent are the sums before each change.
	total  int64
	recent []sumBefore
}

type sumBefore struct {
	at    time.Time
	cents int64
}

// ledgerLength is longer than any window of the calendar.
const ledgerLength = 32 * 24 * time.Hour

func (l *ledger) add(at time.Time, cents int64) {
	if cents == 0 {
		return
	}
	old := l.from(at.Add(-ledgerLength))
	if old > len(l.recent)/2 {
		l.recent = append(l.recent[:0], l.recent[old:]...)
	}
	if n := len(l.recent); n == 0 || !l.recent[n-1].at.Equal(at) {
		l.recent = append(l.recent, sumBefore{at, l.total})
	}
	l.total += cents
}

// since is what was spent from start on; the zero time is for all.
func (l *ledger) since(start time.Time) int64 {
	if start.IsZero() {
		return l.total
	}
	if i := l.from(start); i < len(l.recent) {
		return l.total - l.recent[i].cents
	}
	return 0
}

// from is the index of the first sum that is not before start.
func (l *ledger) from(start time.Time) int {
	return sort.Search(len(l.recent), func(i int) bool { return !l.recent[i].at.Before(start) })
}
