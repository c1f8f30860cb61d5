package draw

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"time"
)

// Simulation is a run of many draws of one unit each on a pool in memory, by the
// code that decides real ones, under a clock of its own.
type Simulation struct {
	// Pool is what was read of the pool; without a state it is taken as open. Issued of
	// its prizes is where the run begins.
	Pool Snapshot
	// Draws is how many are asked for, 1 or more. Each is of one of so many
	// users, all equally likely; tickets are taken as given.
	Draws, Users int
	// Rate is draws per second of the simulated clock, above 0, which begins at
	// From.
	Rate float64
	From time.Time
	// Seed chooses the numbers: the same seed, the same run.
	Seed uint64
	// Agenda is what is due in the run, in order of time: each item is done before
	// the first draw at its time or later.
	Agenda []Item
}

// Simulated is what came of a simulation.
type Simulated struct {
	// Draws is how many were given a unit; Refusals count the others.
	Draws     int64
	Prizes    []SimulatedPrize
	Redirects map[Why]int64
	Refusals  map[Code]int64
	// Spent is the value, in cents, that was issued under rules with a budget.
	Spent int64
	// Failed are the items of the agenda that could not be done.
	Failed []ItemDone
	// Guarantee is nil where there is none, or where its rate is not constant.
	Guarantee *SimulatedGuarantee
}

// SimulatedPrize is what a simulation did with one prize.
type SimulatedPrize struct {
	PrizeID string
	// Count is the awards, Share their part of all. Drawn is how often the urn
	// gave the prize, before redirects; of the fallback, how often it gave
	// nothing.
	Count, Drawn int64
	Share        float64
	// Expected is the exact mean of Drawn as a part of all draws, nil where there
	// is none. Z is how far Drawn is from it, in standard deviations.
	Expected, Z *float64
	// SoldOutAfter is the number of draws after which no unit remained, 0 for
	// never.
	SoldOutAfter int64
}

// SimulatedGuarantee compares the wins under a guarantee with their mean, which
// the draws of each user give exactly.
type SimulatedGuarantee struct {
	Wins              int64
	Rate, Expected, Z float64
}

// simulator is a simulation under way.
type simulator struct {
	Simulation
	*walk
	users  *seeded
	names  []string
	result Simulated
	// begun is the pool as it was; turns and wins are per user and of all.
	begun []urnPrize
	turns []int32
	wins  int64
	// happened says that an item of the agenda was due in the run.
	happened bool
}

// Simulate runs a simulation. Error: CodeInvalidRequest for numbers out of range
// and for rules that do not fit the prizes.
func Simulate(s Simulation) (Simulated, error) {
	if s.Draws < 1 || s.Users < 1 || !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return Simulated{}, Errorf(CodeInvalidRequest, "draws, users and rate of a simulation must be above 0")
	}
	if s.Pool.Rules != nil {
		if err := s.Pool.Rules.Check(s.Pool.Prizes); err != nil {
			return Simulated{}, err
		}
	}
	run := newSimulator(s)
	for i := range s.Draws {
		run.draw(s.From.Add(time.Duration(float64(i) / s.Rate * float64(time.Second))))
	}
	return run.finish(), nil
}

// The uses of a seed.
const (
	seedUnits = iota
	seedUsers
)

func newSimulator(s Simulation) *simulator {
	u := NewUrnFrom("simulated", newSeeded(s.Seed, seedUnits))
	s.Pool.State, s.Pool.Head, s.Pool.At, s.Pool.Committed = cmp.Or(s.Pool.State, StateOpen), NewHead(), s.From, 0
	u.Seen(s.Pool)
	run := &simulator{
		Simulation: s, walk: newWalk(u), users: newSeeded(s.Seed, seedUsers),
		names: make([]string, s.Users), turns: make([]int32, s.Users),
		begun: append([]urnPrize(nil), u.prizes...),
	}
	run.result = Simulated{
		Prizes: make([]SimulatedPrize, len(u.prizes)), Redirects: map[Why]int64{}, Refusals: map[Code]int64{},
	}
	for i := range run.names {
		run.names[i] = "u" + strconv.Itoa(i+1)
	}
	for i := range u.prizes {
		run.result.Prizes[i].PrizeID = u.prizes[i].id
	}
	if s.Pool.Rules != nil {
		run.expect(s.Pool.Rules)
	}
	for _, d := range s.Agenda {
		if d.Rules != nil {
			run.expect(d.Rules)
		}
	}
	return run
}

func (s *simulator) draw(at time.Time) {
	for len(s.Agenda) > 0 && !s.Agenda[0].At.After(at) {
		s.due(&s.Agenda[0])
		s.Agenda = s.Agenda[1:]
	}
	user := s.users.Below(int64(s.Users))
	a := Ask{Request: Request{PoolID: s.urn.PoolID, UserID: s.names[user], Count: 1, TicketUntil: at.Add(time.Hour)}}
	s.begin(a.Player(), at)
	if err := s.plan.refusal(&a); err != nil {
		s.result.Refusals[CodeOf(err)]++
		return
	}
	s.plan.take(&a.Request, 1)
	s.settle()
	s.record(int(user), s.plan.places[0], &s.plan.Awards[0])
}

func (s *simulator) record(user, place int, a *Award) {
	s.result.Draws++
	s.turns[user]++
	prize := &s.result.Prizes[place]
	prize.Count++
	if a.Win() {
		s.wins++
	}
	drawn := place
	if r := a.Redirect; r != nil {
		s.result.Redirects[r.Why]++
		if drawn = s.urn.placeOf(r.Drawn); drawn == none {
			drawn = s.urn.terms.fallback
		}
	}
	s.result.Prizes[drawn].Drawn++
	if p := &s.urn.prizes[place]; !p.endless && p.weight() == 0 && prize.SoldOutAfter == 0 {
		prize.SoldOutAfter = s.result.Draws
	}
}

// due does an item as the service does it. One that fails is noted, and holds up
// nobody.
func (s *simulator) due(item *Item) {
	s.happened = true
	if err := s.do(item); err != nil {
		s.result.Failed = append(s.result.Failed, ItemDone{Item: item.Number, Failed: err.Code, Detail: err.Detail})
	}
}

func (s *simulator) do(item *Item) *Error {
	if err := item.Unreadable(); err != nil {
		return asError(err)
	}
	u := s.urn
	if u.State == StateClosed && item.State != StateClosed {
		return Errorf(CodePoolClosed, "the pool is closed, which is final")
	}
	switch item.Kind {
	case ItemStock:
		return s.stock(&item.Stock)
	case ItemState:
		u.State = item.State
		return nil
	case ItemRules:
	}
	if item.Rules != nil {
		if err := item.Rules.Check(s.Pool.Prizes); err != nil {
			return asError(err)
		}
	}
	s.setRules(item.Rules, item.At)
	return nil
}

// asError is an error of a check.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return WrapInternal(err, "the item could not be done")
}

func (s *simulator) stock(w *Stocking) *Error {
	u := s.urn
	place := u.placeOf(w.PrizeID)
	if place == none {
		return Errorf(CodePrizeNotFound, "the pool has no prize %q", w.PrizeID)
	}
	p := &u.prizes[place]
	switch stocked := p.stocked + w.Delta; {
	case p.endless:
		return Errorf(CodeInvalidRequest, "prize %q is an endless blank, whose stock does not change", w.PrizeID)
	case stocked < p.issued:
		return Errorf(CodeStockBelowIssued, "prize %q has issued %d of %d units; %d more cannot be withdrawn", w.PrizeID, p.issued, p.stocked, -w.Delta)
	case stocked > StockMax:
		return Errorf(CodeInvalidRequest, "delta would raise the stock of prize %q above %d", w.PrizeID, int64(StockMax))
	default:
		u.move(place, -w.Delta)
		p.issued += w.Delta
		p.stocked = stocked
		u.stocked += w.Delta
		s.result.Prizes[place].SoldOutAfter = 0
		return nil
	}
}

func (s *simulator) finish() Simulated {
	s.result.Spent = s.spent.total
	for i := range s.result.Prizes {
		p := &s.result.Prizes[i]
		if s.result.Draws > 0 {
			p.Share = float64(p.Count) / float64(s.result.Draws)
		}
	}
	s.expectations()
	return s.result
}
