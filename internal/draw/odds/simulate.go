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

// Simulation is a run of many draws of one unit each on a pool in memory, by the
// code that decides real ones, under a clock of its own.
type Simulation struct {
	// Pool is what was read of the pool; without a state it is taken as open. Issued of
	// its prizes is where the run begins.
	Pool urn.Snapshot
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
	Agenda []draw.Item
}

// Simulated is what came of a simulation.
type Simulated struct {
	// Draws is how many were given a unit; Refusals count the others.
	Draws     int64
	Prizes    []SimulatedPrize
	Redirects map[draw.Why]int64
	Refusals  map[draw.Code]int64
	// Spent is the value, in cents, that was issued under rules with a budget.
	Spent int64
	// Failed are the items of the agenda that could not be done.
	Failed []draw.ItemDone
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
	*urn.Run
	urn    *urn.Urn
	places map[string]int
	users  *seeded
	names  []string
	result Simulated
	// begun is the pool as it was; turns and wins are per user and of all.
	begun []draw.Prize
	// stocked is the stock of each prize; no unit of an endless blank is its last.
	stocked []int64
	turns   []int32
	wins    int64
	// happened reports whether an item of the agenda was due in the run.
	happened bool
}

// Simulate runs a simulation. Error: CodeInvalidRequest for numbers out of range
// and for rules that do not fit the prizes.
func Simulate(s Simulation) (Simulated, error) {
	if s.Draws < 1 || s.Users < 1 || !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return Simulated{}, draw.Errorf(draw.CodeInvalidRequest, "draws, users and rate of a simulation must be above 0")
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

// seeded is one sequence of ChaCha8 over all versions: a simulation never plans
// a version twice.
type seeded struct{ words *mathrand.ChaCha8 }

// newSeeded makes the sequence of a seed; use tells sequences of one seed apart.
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
		drawn = s.places[cmp.Or(r.Drawn, s.urn.Rules().Fallback)]
	}
	s.result.Prizes[drawn].Drawn++
	if a.Unit == s.stocked[place] && prize.SoldOutAfter == 0 {
		prize.SoldOutAfter = s.result.Draws
	}
}

// due does an item as the service does it. One that fails is noted, and holds up
// nobody.
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

// asError is an error of a check.
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
