package odds

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Simulation is a run of many draws of one unit each on a pool in memory, by the code
// that decides real ones, with a simulated clock.
type Simulation struct {
	// Pool is what was read of the pool; without a state it counts as open. The run
	// begins with the Issued of its prizes.
	Pool urn.Snapshot
	// Draws is the number of draws, 1 or more. Each is made for one of Users users, all
	// equally likely, and is assumed to have a ticket.
	Draws, Users int
	// Rate is draws per second of the simulated clock, above 0; the clock begins at
	// From.
	Rate float64
	From time.Time
	// Seed determines the random numbers: the same seed gives the same run.
	Seed uint64
	// Agenda is what comes due in the run, in order of time: each item is carried out
	// before the first draw at its time or later.
	Agenda []draw.Item
	// Hidden are items whose instants are unknown: each unit comes due at one of the
	// seed's, uniform in the span that they were spread over, or in that of the run.
	Hidden []draw.Hidden
}

// Simulated is the result of a simulation.
type Simulated struct {
	// Draws is how many got a unit; Refusals count the others.
	Draws     int64
	Prizes    []SimulatedPrize
	Redirects map[draw.Why]int64
	Refusals  map[draw.Code]int64
	// Spent is the value, in cents, that was issued under rules with a budget.
	Spent int64
	// Failed are the items of the agenda that could not be carried out.
	Failed []draw.ItemDone
	// Guarantee is nil if there is none, or if its rate is not constant.
	Guarantee *SimulatedGuarantee
}

// SimulatedPrize is the result of one prize.
type SimulatedPrize struct {
	PrizeID string
	// Count is the number of awards, Share their part of all. Drawn is how often the
	// urn gave the prize, before redirects; for the fallback, how often it gave
	// nothing.
	Count, Drawn int64
	Share        float64
	// Expected is the exact mean of Drawn as a part of all draws, nil if it is not
	// known. Z is the distance of Drawn from it, in standard deviations.
	Expected, Z *float64
	// SoldOutAfter is the number of draws after which no unit remained, 0 for
	// never.
	SoldOutAfter int64
}

// SimulatedGuarantee compares the wins under a guarantee with their mean, which is
// exact for the draws of each user.
type SimulatedGuarantee struct {
	Wins              int64
	Rate, Expected, Z float64
}

// simulator is a running simulation.
type simulator struct {
	Simulation
	*urn.Run
	urn    *urn.Urn
	places map[string]int
	users  *seeded
	names  []string
	result Simulated
	// begun are the prizes before the run; turns and wins are per user and of all.
	begun []draw.Prize
	// stocked is the stock of each prize; an endless blank never sells out.
	stocked []int64
	turns   []int32
	wins    int64
	// moments is the number of moments that came due.
	moments int64
	// happened reports whether an item of the agenda was due in the run.
	happened bool
}

// Simulate runs a simulation. Error: CodeInvalidRequest for numbers out of range and
// for rules that do not fit the prizes.
func Simulate(s Simulation) (Simulated, error) {
	if s.Draws < 1 || s.Users < 1 || !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return Simulated{}, draw.Errorf(draw.CodeInvalidRequest, "draws, users and rate of a simulation must be above 0")
	}
	if s.Pool.Rules != nil {
		if err := s.Pool.Rules.Check(s.Pool.Prizes); err != nil {
			return Simulated{}, err
		}
	}
	s.Agenda = append(slices.Clone(s.Agenda), s.hiddenItems()...)
	slices.SortStableFunc(s.Agenda, func(a, b draw.Item) int { return a.At.Compare(b.At) })
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
	seedHidden
)

// seeded is one sequence of ChaCha8 over all versions: a simulation never plans a
// version twice.
type seeded struct{ words *mathrand.ChaCha8 }

// newSeeded returns the sequence of a seed; use distinguishes sequences of one seed.
func newSeeded(seed uint64, use byte) *seeded {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	key[len(key)-1] = use
	return &seeded{words: mathrand.NewChaCha8(key)}
}

// Of returns the rest of the sequence.
func (s *seeded) Of(int64) urn.Numbers { return s }

// Below returns a number from 0 to limit-1, each equally likely.
func (s *seeded) Below(limit int64) int64 { return urn.Below(limit, s.words.Uint64) }

func newSimulator(s Simulation) *simulator {
	u := urn.NewUrnFrom("simulated", newSeeded(s.Seed, seedUnits))
	s.Pool.State, s.Pool.Head, s.Pool.At, s.Pool.Committed = cmp.Or(s.Pool.State, draw.StateOpen), draw.NewHead(), s.From, 0
	u.Seen(s.Pool)
	documents := make([]*draw.Rules, 0, len(s.Agenda)+1)
	for _, r := range append([]*draw.Rules{s.Pool.Rules}, rulesOf(s.Agenda)...) {
		if r != nil {
			documents = append(documents, r)
		}
	}
	run := &simulator{
		Simulation: s, Run: urn.NewRun(u, documents), urn: u, places: map[string]int{}, users: newSeeded(s.Seed, seedUsers),
		names: make([]string, s.Users), turns: make([]int32, s.Users), begun: slices.Collect(u.EachPrize()),
	}
	run.stocked = make([]int64, len(run.begun))
	run.result = Simulated{
		Prizes: make([]SimulatedPrize, len(run.begun)), Redirects: map[draw.Why]int64{}, Refusals: map[draw.Code]int64{},
	}
	for i := range run.names {
		run.names[i] = "u" + strconv.Itoa(i+1)
	}
	for i := range run.begun {
		run.result.Prizes[i].PrizeID = run.begun[i].ID
		run.places[run.begun[i].ID], run.stocked[i] = i, run.begun[i].Stocked
	}
	return run
}

// hiddenItems returns an item for each hidden unit, at an instant of the seed that is not
// before the run.
func (s *Simulation) hiddenItems() (all []draw.Item) {
	instants := newSeeded(s.Seed, seedHidden)
	for _, h := range s.Hidden {
		from, to := h.From, h.To
		if to.IsZero() {
			from, to = s.From, s.From.Add(time.Duration(float64(s.Draws)/s.Rate*float64(time.Second)))
		}
		if from.Before(s.From) {
			from = s.From
		}
		steps := max(int64(to.Sub(from)/draw.TimeStep), 1)
		for range h.Count {
			item := draw.Item{At: from.Add(time.Duration(instants.Below(steps)) * draw.TimeStep), Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: h.PrizeID, Delta: 1}}
			if h.IsMoments {
				item.Kind, item.Stock = draw.ItemMoment, draw.MomentOf(h.PrizeID)
			}
			all = append(all, item)
		}
	}
	return all
}

func rulesOf(agenda []draw.Item) (all []*draw.Rules) {
	for i := range agenda {
		all = append(all, agenda[i].Rules)
	}
	return all
}

func (s *simulator) draw(at time.Time) {
	for len(s.Agenda) > 0 && !s.Agenda[0].At.After(at) {
		s.due(&s.Agenda[0])
		s.Agenda = s.Agenda[1:]
	}
	user := s.users.Below(int64(s.Users))
	q := draw.Request{PoolID: s.urn.PoolID, UserID: s.names[user], Count: 1, TicketUntil: at.Add(time.Hour)}
	award, err := s.Draw(&q, at)
	if err != nil {
		s.result.Refusals[draw.CodeOf(err)]++
		return
	}
	s.record(int(user), award)
}

func (s *simulator) record(user int, a *draw.Award) {
	s.result.Draws++
	s.turns[user]++
	place := s.places[a.PrizeID]
	prize := &s.result.Prizes[place]
	prize.Count++
	if a.Win() {
		s.wins++
	}
	drawn := place
	if r := a.Redirect; r != nil {
		s.result.Redirects[r.Why]++
		if drawn = s.places[r.Drawn]; r.Drawn == "" {
			drawn = s.places[s.urn.Rules().Fallback]
		}
	}
	s.result.Prizes[drawn].Drawn++
	if a.Unit == s.stocked[place] && prize.SoldOutAfter == 0 {
		prize.SoldOutAfter = s.result.Draws
	}
}

// due carries out an item as the service does. If it fails, the failure is recorded,
// and the run continues.
func (s *simulator) due(item *draw.Item) {
	s.happened = true
	if err := s.do(item); err != nil {
		s.result.Failed = append(s.result.Failed, draw.ItemDone{Item: item.Number, Failed: err.Code, Detail: err.Detail})
	}
}

func (s *simulator) do(item *draw.Item) *draw.Error {
	if err := item.Unreadable(); err != nil {
		return asError(err)
	}
	if s.urn.State == draw.StateClosed && item.State != draw.StateClosed {
		return draw.Errorf(draw.CodePoolClosed, "the pool is closed, which is final")
	}
	switch item.Kind {
	case draw.ItemStock:
		return s.stock(&item.Stock)
	case draw.ItemMoment:
		err := s.stock(&item.Stock)
		if err == nil {
			s.moments++
			s.AddMoment(urn.Moment{Item: s.moments, Done: s.moments, PrizeID: item.Stock.PrizeID})
		}
		return err
	case draw.ItemState:
		s.urn.State = item.State
		return nil
	case draw.ItemRules:
	}
	if item.Rules != nil {
		if err := item.Rules.Check(s.Pool.Prizes); err != nil {
			return asError(err)
		}
	}
	s.SetRules(item.Rules, item.At)
	return nil
}

// asError converts the error of a check.
func asError(err error) *draw.Error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	return draw.WrapInternal(err, "the item could not be done")
}

func (s *simulator) stock(w *draw.Stocking) *draw.Error {
	p := s.Prize(w.PrizeID)
	if p == nil {
		return draw.Errorf(draw.CodePrizeNotFound, "the pool has no prize %q", w.PrizeID)
	}
	switch stocked := p.Stocked + w.Delta; {
	case p.IsEndless():
		return draw.Errorf(draw.CodeInvalidRequest, "prize %q is an endless blank, whose stock does not change", w.PrizeID)
	case stocked < p.Issued:
		return draw.Errorf(draw.CodeStockBelowIssued, "prize %q has issued %d of %d units; %d more cannot be withdrawn", w.PrizeID, p.Issued, p.Stocked, -w.Delta)
	case stocked > draw.StockMax:
		return draw.Errorf(draw.CodeInvalidRequest, "delta would raise the stock of prize %q above %d", w.PrizeID, int64(draw.StockMax))
	default:
		p.Stocked = stocked
		s.Put(*p)
		s.stocked[s.places[w.PrizeID]] = stocked
		s.result.Prizes[s.places[w.PrizeID]].SoldOutAfter = 0
		return nil
	}
}

func (s *simulator) finish() Simulated {
	s.result.Spent = s.Spent()
	for i := range s.result.Prizes {
		p := &s.result.Prizes[i]
		if s.result.Draws > 0 {
			p.Share = float64(p.Count) / float64(s.result.Draws)
		}
	}
	s.expectations()
	return s.result
}
