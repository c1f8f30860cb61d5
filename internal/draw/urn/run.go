package urn

import (
	"sort"
	"time"

	"drawsvc/internal/draw"
)

// Run makes many draws on one urn in memory, one after another. Between two plans it
// makes the changes that the database makes for the service.
type Run struct {
	urn   *Urn
	plan  *Plan
	facts *Facts
	ask   Ask
	spent ledger
	// begun are the amounts that were spent before the run, in windows of budgets that
	// contain its beginning.
	begun []Spending
	// turnsMax is the maximum number of turns of a subject that a limit can count, by
	// kind.
	turnsMax map[draw.Counted]int64
	// before is the amount that was spent in the present window before the plan's draw.
	before int64
}

// NewRun begins with the urn as it is. documents are all rules that will be in force, in
// any order: they are needed because a later limit counts earlier turns.
func NewRun(u *Urn, documents []*draw.Rules) *Run {
	r := &Run{urn: u, plan: u.newPlan(nil), facts: NewFacts(nil), turnsMax: map[draw.Counted]int64{}}
	r.plan.facts, r.plan.absent = r.facts, &turns{}
	r.plan.players, r.plan.tallies = map[draw.Player][]*tally{}, map[who]*tally{}
	for _, d := range documents {
		for _, l := range d.Limits {
			if c := l.Counted(); !l.Per.IsEver() {
				r.turnsMax[c] = max(r.turnsMax[c], l.Max)
			}
		}
	}
	return r
}

// Begin sets the amounts that were spent before the run, one for each window of a budget
// that contains the time at.
func (r *Run) Begin(spent []Spending, at time.Time) {
	r.begun = spent
	r.SetRules(r.urn.rules(), at)
}

// SetRules puts rules in force at a time, nil for none. The rules must fit the prizes.
// SetRules then computes how much was spent in the present window of their budget.
func (r *Run) SetRules(rules *draw.Rules, at time.Time) {
	r.urn.setTerms(rules)
	r.urn.spending = Spending{}
	if rules != nil && rules.Budget != nil {
		start := rules.Budget.Per.Start(at, rules.Zone)
		r.urn.spending = Spending{From: start, Cents: r.spentSince(start)}
	}
}

// spentSince returns the amount that was spent since the start of a window.
func (r *Run) spentSince(start time.Time) int64 {
	cents := r.spent.since(start)
	for _, s := range r.begun {
		if s.From.Equal(start) {
			cents += s.Cents
		}
	}
	return cents
}

// Put sets a prize of the urn; a new one is added after the others.
func (r *Run) Put(p draw.Prize) {
	r.urn.put(p)
	r.urn.setTerms(r.urn.rules())
}

// SetStock sets the stock of a prize, unless the urn does not have it or it is endless.
func (r *Run) SetStock(prizeID string, stocked int64) {
	place := r.urn.placeOf(prizeID)
	if place == none || r.urn.prizes[place].endless {
		return
	}
	p := &r.urn.prizes[place]
	delta := stocked - p.stocked
	p.stocked += delta
	r.urn.stocked += delta
	r.urn.units.add(place, delta)
	r.urn.remaining += delta
}

// Prize returns the prize with an id in its present state, nil for one that the urn
// does not have.
func (r *Run) Prize(id string) *draw.Prize { return r.urn.prizeOf(id) }

// Spent returns the value, in cents, that was issued under rules with a budget.
func (r *Run) Spent() int64 { return r.spent.total }

// Draw decides and takes one unit for a request. The award is valid until the next
// call. Errors: those that refuse the request.
func (r *Run) Draw(q *draw.Request, at time.Time) (*draw.Award, error) {
	r.begin(at)
	r.ask.Request = *q
	if err := r.plan.refusal(&r.ask); err != nil {
		return nil, err
	}
	r.plan.take(q, 1)
	r.settle()
	return &r.plan.Awards[0], nil
}

// begin prepares the plan for one draw.
func (r *Run) begin(at time.Time) {
	p := r.plan
	p.Awards, p.places, p.Turns, p.Takes, p.Spending = p.Awards[:0], p.places[:0], p.Turns[:0], p.Takes[:0], Spending{}
	p.From = r.urn.Head
	clear(p.players)
	clear(p.tallies)
	p.begin(at)
	r.before = p.Spending.Cents
}

// settle applies the plan's draw.
func (r *Run) settle() {
	u, p := r.urn, r.plan
	u.Version++
	u.At = p.At
	if t := u.terms; t != nil && t.Budget != nil {
		r.spent.add(p.At, p.Spending.Cents-r.before)
		u.spending = p.Spending
	}
	for _, turn := range p.Turns {
		t := r.facts.begin(who{turn.Subject, turn.Counted})
		t.add(turn)
		t.keep(r.turnsMax[turn.Counted])
	}
}

// ledger states how much was spent since a time within the last ledgerLength.
type ledger struct {
	// total is the sum of everything that was spent; recent are the sums before each
	// change.
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

// since returns the amount that was spent from start on; with the zero time it returns
// everything.
func (l *ledger) since(start time.Time) int64 {
	if start.IsZero() {
		return l.total
	}
	if i := l.from(start); i < len(l.recent) {
		return l.total - l.recent[i].cents
	}
	return 0
}

// from returns the index of the first sum that is not before start.
func (l *ledger) from(start time.Time) int {
	return sort.Search(len(l.recent), func(i int) bool { return !l.recent[i].at.Before(start) })
}
