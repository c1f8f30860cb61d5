package odds

import (
	"cmp"
	"encoding/binary"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Simulation is a run of many draws of one unit each, on a pool in memory. It uses the
// code that decides real draws, and a simulated clock.
type Simulation struct {
	// Pool is the state of the pool as it was read; without a state it counts as open.
	// The run begins with the issued units of its prizes.
	Pool urn.Snapshot
	// Draws is the number of draws, 1 or more. Each is made for one of Users users, all
	// equally likely, and is assumed to have a ticket.
	Draws, Users int
	// Rate is the number of draws per second of the simulated clock, above 0. The clock
	// begins at From.
	Rate float64
	From time.Time
	// Seed determines the random numbers: the same seed gives the same run.
	Seed uint64
	// Agenda are the items that come due in the run, in order of time. Each is carried
	// out before the first draw that is at its time or later.
	Agenda []draw.Item
	// Hidden are items whose instants are unknown. The seed determines the instant at
	// which each unit comes due. It is uniform in the span over which the units were
	// spread, or else in the run.
	Hidden []draw.Hidden
	// SpentBefore is the amount that was spent before the run, in each window of a budget
	// that contains From.
	SpentBefore []draw.Spending
	// Stop is called at intervals; its error ends the run. If it is nil, nothing stops the
	// run.
	Stop func() error
}

// Simulated is the result of a simulation.
type Simulated struct {
	// Draws is the number of draws that got a unit; Refusals count the others.
	Draws     int64
	Prizes    []SimulatedPrize
	Redirects map[draw.Why]int64
	Refusals  map[draw.Code]int64
	// Spent is the value, in cents, that the run issued under rules with a budget.
	Spent int64
	// Zone is the time zone of Days: the zone of the pool's rules, or else of the first
	// rules of the agenda, or else UTC.
	Zone *time.Location
	// Days are the days from the first draw to the last, in order and without gaps.
	Days []SimulatedDay
	// Failed are the first items of the agenda that could not be carried out, at most
	// failedMax.
	Failed []draw.ItemDone
	// Guarantee is nil if there is none, or if its rate is not constant.
	Guarantee *SimulatedGuarantee
}

// SimulatedPrize is the result of one prize.
type SimulatedPrize struct {
	PrizeID string
	// Count is the number of awards, and Share is their share of all awards. Drawn is how
	// often the urn gave the prize, before redirects; for the fallback, how often it gave
	// nothing.
	Count, Drawn int64
	Share        float64
	// Expected is the exact mean of Drawn as a share of all draws, nil if it is not
	// known. Z is the distance of Drawn from that mean, in standard deviations.
	Expected, Z *float64
	// SoldOutAfter is the number of draws after which no unit remained, 0 for never, or
	// if the agenda added units later. SoldOutAt is the simulated time of the draw that
	// took the last unit, and SoldOutDay is its day, from 1.
	SoldOutAfter int64
	SoldOutAt    time.Time
	SoldOutDay   int
	// Remaining is the number of units that are left; it means nothing if IsEndless.
	Remaining int64
	IsEndless bool
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
	// begun are the prizes before the run.
	begun []draw.Prize
	// stocked is the stock of each prize; an endless blank never sells out.
	stocked []int64
	turns   []int32
	wins    int64
	// cents are the values of the prizes.
	cents []int64
	// perDay is the window of a day, and dayEnd is the end of the last of the result's
	// days.
	perDay draw.Per
	dayEnd time.Time
	// hidden are the units of Hidden that have not come due, in order of time.
	hidden []hiddenUnit
	// moments is the number of moments that came due.
	moments int64
	// happened reports whether an item of the agenda was due in the run.
	happened bool
	// worked is the number of draws and items so far.
	worked int
}

// The bounds of a run: stopEvery is the number of draws and items between two calls of
// Stop, and spanMax is the maximum time on the simulated clock, which fits a
// time.Duration.
const (
	stopEvery = 1024
	spanMax   = 250 * 365 * 24 * time.Hour
)

// Simulate runs a simulation. Errors: CodeInvalidRequest for numbers out of range and for
// rules that do not fit the prizes, and that of Stop.
func Simulate(s Simulation) (Simulated, error) {
	if s.Draws < 1 || s.Users < 1 || !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return Simulated{}, draw.Errorf(draw.CodeInvalidRequest, "draws, users and rate of a simulation must be above 0")
	}
	if float64(s.Draws)/s.Rate > spanMax.Seconds() {
		return Simulated{}, draw.Errorf(draw.CodeInvalidRequest, "a simulation must end within 250 years of its clock")
	}
	if s.Pool.Rules != nil {
		if err := s.Pool.Rules.Check(s.Pool.Prizes); err != nil {
			return Simulated{}, err
		}
	}
	s.Agenda = slices.Clone(s.Agenda)
	slices.SortStableFunc(s.Agenda, func(a, b draw.Item) int { return a.At.Compare(b.At) })
	run := newSimulator(s)
	for i := range s.Draws {
		if err := run.draw(s.instant(i)); err != nil {
			return Simulated{}, err
		}
	}
	return run.finish(), nil
}

// instant returns the time of the i-th draw, from 0.
func (s *Simulation) instant(i int) time.Time {
	return s.From.Add(time.Duration(float64(i) / s.Rate * float64(time.Second)))
}

// askStop counts a draw or an item, and calls Stop after every stopEvery. Error: that
// of Stop.
func (s *simulator) askStop() error {
	s.worked++
	if s.Stop == nil || s.worked%stopEvery != 1 {
		return nil
	}
	return s.Stop()
}

// The uses of a seed.
const (
	seedUnits = iota
	seedUsers
	seedHidden
)

// seeded is one sequence of ChaCha8 for all versions. One is enough, because a simulation
// plans each version once.
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
	run.Begin(s.SpentBefore, s.From)
	run.stocked, run.cents = make([]int64, len(run.begun)), make([]int64, len(run.begun))
	run.result = Simulated{
		Prizes: make([]SimulatedPrize, len(run.begun)), Redirects: map[draw.Why]int64{}, Refusals: map[draw.Code]int64{}, Zone: time.UTC,
	}
	if len(documents) > 0 && documents[0].Zone != nil {
		run.result.Zone = documents[0].Zone
	}
	run.hidden = s.hiddenUnits()
	run.perDay, _ = draw.ParsePer("day", "day") // a word of the language
	for i := range run.names {
		run.names[i] = "u" + strconv.Itoa(i+1)
	}
	for i := range run.begun {
		run.result.Prizes[i].PrizeID = run.begun[i].ID
		run.places[run.begun[i].ID], run.stocked[i], run.cents[i] = i, run.begun[i].Stocked, draw.Cents(run.begun[i].Value)
	}
	return run
}

// draw makes the draw of an instant. Before it, it carries out the items that are due.
// Error: that of Stop.
func (s *simulator) draw(at time.Time) error {
	if err := s.askStop(); err != nil {
		return err
	}
	for s.doNext(at) {
		if err := s.askStop(); err != nil {
			return err
		}
	}
	day := s.day(at)
	user := s.users.Below(int64(s.Users))
	q := draw.Request{PoolID: s.urn.PoolID, UserID: s.names[user], Count: 1, TicketUntil: at.Add(time.Hour)}
	award, err := s.Draw(&q, at)
	if err != nil {
		day.Refused++
		s.result.Refusals[draw.CodeOf(err)]++
		return nil
	}
	place := s.record(int(user), award)
	day.Draws++
	day.Cents = min(day.Cents, math.MaxInt64-s.cents[place]) + s.cents[place] // values are 0 or more
	if award.Win() {
		day.Wins++
	}
	if prize := &s.result.Prizes[place]; award.Unit == s.stocked[place] && prize.SoldOutAfter == 0 {
		prize.SoldOutAfter, prize.SoldOutAt, prize.SoldOutDay = s.result.Draws, at, len(s.result.Days)
	}
	return nil
}

// record counts an award, and returns the place of its prize.
func (s *simulator) record(user int, a *draw.Award) (place int) {
	s.result.Draws++
	s.turns[user]++
	place = s.places[a.PrizeID]
	s.result.Prizes[place].Count++
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
	return place
}

func (s *simulator) finish() Simulated {
	s.result.Spent = s.Spent()
	for i := range s.result.Prizes {
		p := &s.result.Prizes[i]
		if s.result.Draws > 0 {
			p.Share = float64(p.Count) / float64(s.result.Draws)
		}
		end := s.Prize(p.PrizeID)
		p.IsEndless, p.Remaining = end.IsEndless(), end.Stocked-end.Issued
	}
	s.expectations()
	return s.result
}
