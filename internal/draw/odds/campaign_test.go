package odds_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
)

// campaign is a run of the given number of days, from a midnight in Berlin.
func campaign(t testing.TB, document string, days, draws, users int, prizes ...draw.Prize) odds.Simulation {
	t.Helper()
	s := odds.Simulation{
		Draws: draws, Users: users, Rate: float64(draws) / (float64(days) * 86_400), Seed: 1,
		From: time.Date(2026, 12, 1, 0, 0, 0, 0, berlin(t)),
	}
	s.Pool.Prizes = prizes
	if document != "" {
		s.Pool.Rules = drawtest.Rules(t, document)
	}
	return s
}

func berlin(t testing.TB) *time.Location {
	t.Helper()
	return drawtest.Rules(t, `{"zone":"Europe/Berlin"}`).Zone
}

func simulated(t testing.TB, s odds.Simulation) odds.Simulated {
	t.Helper()
	r, err := odds.Simulate(s)
	require.NoError(t, err)
	return r
}

func gold(stocked int64) draw.Prize {
	return draw.Prize{ID: "gold", Name: "Gold", Value: draw.Amount(250), Stocked: stocked}
}

func blank() draw.Prize {
	return draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}
}

func restock(at time.Time, delta int64) draw.Item {
	return draw.Item{Number: 1, At: at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: delta, Reason: "day"}}
}

// judgeDays returns what is wrong with the days of a result: each draw belongs to the day
// of its time in a zone, and the days add up to the whole.
func judgeDays(s *odds.Simulation, r *odds.Simulated, zone *time.Location) error {
	tries := map[string]int64{}
	for i := range s.Draws {
		tries[s.From.Add(time.Duration(float64(i)/s.Rate*1e9)).In(zone).Format("2006-01-02")]++
	}
	var draws, wins, refused, cents, refusals int64
	for _, d := range r.Days {
		if tries[d.Date] != d.Draws+d.Refused {
			return fmt.Errorf("%s has %d of %d tries", d.Date, d.Draws+d.Refused, tries[d.Date])
		}
		draws, wins, refused, cents = draws+d.Draws, wins+d.Wins, refused+d.Refused, cents+d.Cents
	}
	for _, n := range r.Refusals {
		refusals += n
	}
	if draws != r.Draws || refused != refusals || wins != r.Prizes[0].Count || cents != 250*r.Prizes[0].Count {
		return errors.New("the days do not add up to the whole")
	}
	return nil
}

// TestSimulatedDaysAreThoseOfTheZone: the days of a run have the dates of the rules'
// zone, also where the clocks change, and add up to the whole. One broken double has
// the dates of UTC, the other loses a win.
func TestSimulatedDaysAreThoseOfTheZone(t *testing.T) {
	t.Parallel()
	s := campaign(t, `{"fallback":"none","win":"1/3","zone":"Europe/Berlin","limits":[{"of":"draws","max":9,"per":"day"}]}`, 6, 5000, 100, gold(700), blank())
	s.From = time.Date(2026, 10, 22, 13, 0, 0, 0, time.UTC) // on the 25th the clocks change
	r := simulated(t, s)
	require.Equal(t, "Europe/Berlin", r.Zone.String())
	require.Len(t, r.Days, 7)
	require.NoError(t, judgeDays(&s, &r, berlin(t)))
	require.Positive(t, r.Refusals[draw.CodeLimitReached], "some are refused")

	require.ErrorContains(t, judgeDays(&s, &r, time.UTC), "tries")
	r.Days[3].Wins--
	require.ErrorContains(t, judgeDays(&s, &r, berlin(t)), "add up")

	s.Pool.Rules, s.Pool.Prizes = nil, []draw.Prize{gold(5000)}
	r = simulated(t, s)
	require.NoError(t, judgeDays(&s, &r, time.UTC), "without rules they are those of UTC")
}

// TestPlannedStockIsWonFromItsDayOn: units that the agenda adds on the third day are not
// won before. A prize is used up on the day of its last unit. Units that come later make
// it available again.
func TestPlannedStockIsWonFromItsDayOn(t *testing.T) {
	t.Parallel()
	s := campaign(t, `{"fallback":"none","win":"1/5","zone":"Europe/Berlin"}`, 5, 5000, 100, gold(0), blank())
	s.Agenda = []draw.Item{restock(s.From.AddDate(0, 0, 2), 50)}
	r := simulated(t, s)
	require.NoError(t, judgeDays(&s, &r, berlin(t)))
	require.Zero(t, r.Days[0].Wins+r.Days[1].Wins)
	require.Equal(t, int64(50), r.Days[2].Wins, "200 draws of the day would win")
	require.Equal(t, 3, r.Prizes[0].SoldOutDay)
	require.Equal(t, "2026-12-03", r.Prizes[0].SoldOutAt.In(berlin(t)).Format(time.DateOnly))
	require.Zero(t, r.Prizes[0].Remaining)
	require.True(t, r.Prizes[1].IsEndless)

	s.Agenda = append(s.Agenda, restock(s.From.AddDate(0, 0, 4), 5000))
	r = simulated(t, s)
	require.Equal(t, int64(50), r.Days[2].Wins+r.Days[3].Wins)
	require.Positive(t, r.Days[4].Wins)
	require.Zero(t, r.Prizes[0].SoldOutDay, "some is left at the end")
	require.Equal(t, 5050-r.Prizes[0].Count, r.Prizes[0].Remaining)
}

// TestSimulatedLimitsCountUsers: under a limit per day, each user draws as often as the
// limit allows, on the first day and again on the next.
func TestSimulatedLimitsCountUsers(t *testing.T) {
	t.Parallel()
	s := campaign(t, `{"fallback":"none","zone":"Europe/Berlin","limits":[{"of":"draws","max":2,"per":"day"}]}`, 4, 2000, 7, gold(0), blank())
	r := simulated(t, s)
	for _, d := range r.Days {
		require.Equal(t, int64(14), d.Draws, "%+v", d)
	}
	require.Equal(t, map[draw.Code]int64{draw.CodeLimitReached: 2000 - 4*14}, r.Refusals)
}

// TestSimulationHasTheExactChances: one of two units is drawn, then two units of gold are
// added, and a second unit is drawn. Counted by hand, the second unit is gold in 5 of 6
// cases, and the tin is left in 1 of 3.
func TestSimulationHasTheExactChances(t *testing.T) {
	t.Parallel()
	s := campaign(t, ``, 2, 2, 5, gold(1), draw.Prize{ID: "tin", Name: "Tin", Stocked: 1})
	s.Agenda = []draw.Item{restock(s.From.Add(12*time.Hour), 2)}
	const runs = 4000
	golds, left := 0.0, 0.0
	for s.Seed = range uint64(runs) {
		r := simulated(t, s)
		golds += float64(r.Prizes[0].Count) // 1/2 of the first, and 5/6 of the second
		left += float64(r.Prizes[1].Remaining)
	}
	off := func(count, chance float64) float64 { return (count - runs*chance) / math.Sqrt(runs*chance*(1-chance)) }
	require.Less(t, math.Abs(off(left, 1.0/3)), 5.0)
	require.InDelta(t, runs*(1.0/2+5.0/6), golds, 5*math.Sqrt(runs*(1.0/4+5.0/36)))
}

// judgeInstants returns an error if the simulation reveals an instant. A unit that may
// come on any of six days must come, over many seeds, on each of them about equally
// often.
func judgeInstants(t *testing.T, s odds.Simulation) error {
	t.Helper()
	const runs = 600
	var days [6]float64
	for s.Seed = range uint64(runs) {
		r := simulated(t, s)
		for i, d := range r.Days {
			days[i] += float64(d.Wins)
		}
	}
	for _, n := range days {
		if math.Abs(n-runs/6.0) > 5*math.Sqrt(runs*5/36.0) {
			return fmt.Errorf("the wins of the days %v are not spread evenly", days)
		}
	}
	return nil
}

// TestSimulationKnowsNoHiddenInstant: the seed determines the instant of a hidden unit or
// moment. It is uniform in the span over which the unit was spread, or else in the span
// of the run. The broken double simulates the unit at its true instant.
func TestSimulationKnowsNoHiddenInstant(t *testing.T) {
	t.Parallel()
	document := `{"fallback":"none","zone":"Europe/Berlin"}`
	s := campaign(t, document, 6, 1200, 10, gold(0), blank())
	for _, hidden := range []draw.Hidden{
		{PrizeID: "gold", Count: 1, From: s.From, To: s.From.AddDate(0, 0, 6), IsMoments: true},
		{PrizeID: "gold", Count: 1, IsMoments: true},
	} {
		s.Hidden = []draw.Hidden{hidden}
		require.NoError(t, judgeInstants(t, s), "%+v", hidden)
	}
	s.Hidden, s.Agenda = nil, []draw.Item{{At: s.From.AddDate(0, 0, 2), Kind: draw.ItemMoment, Stock: draw.MomentOf("gold")}}
	require.ErrorContains(t, judgeInstants(t, s), "not spread evenly")

	// With a narrower span, all instants are within it, and no unit is lost.
	s.Agenda, s.Hidden = nil, []draw.Hidden{{PrizeID: "gold", Count: 40, From: s.From.AddDate(0, 0, 3), To: s.From.AddDate(0, 0, 4), IsMoments: true}}
	r := simulated(t, s)
	require.Equal(t, int64(40), r.Days[3].Wins+r.Days[4].Wins)
	require.Equal(t, int64(40), r.Prizes[0].Count)
}

// judgeSpent returns what is wrong with a run of six days. On the fourth day, a budget
// of 40.00 without windows replaces a budget of 5.00 a day. Before the run, 2.50 were
// spent on the first day, and 10.00 in all. So 2.50, 5.00, 5.00 and then 17.50 are
// left.
func judgeSpent(t *testing.T, s odds.Simulation) error {
	t.Helper()
	s.Agenda = []draw.Item{{Number: 1, At: s.From.AddDate(0, 0, 3), Kind: draw.ItemRules,
		Rules: drawtest.Rules(t, `{"fallback":"none","zone":"Europe/Berlin","budget":{"max":"40.00"}}`)}}
	r := simulated(t, s)
	for i, cents := range []int64{250, 500, 500, 1750, 0, 0} {
		if r.Days[i].Cents != cents {
			return fmt.Errorf("day %d gives %d cents of %d", i, r.Days[i].Cents, cents)
		}
	}
	if r.Spent != 3000 {
		return fmt.Errorf("the run gives %d cents of 3000", r.Spent)
	}
	return nil
}

// TestSimulationBeginsWithWhatWasSpent: an amount that was spent in a budget's window
// before the run counts in the run. This holds for the first rules and for rules of the
// agenda. One broken double begins with nothing spent. Another knows only the window of
// the first rules.
func TestSimulationBeginsWithWhatWasSpent(t *testing.T) {
	t.Parallel()
	s := campaign(t, `{"fallback":"none","zone":"Europe/Berlin","budget":{"max":"5.00","per":"day"}}`, 6, 6000, 100, gold(5000), blank())
	s.SpentBefore = []draw.Spending{{From: s.From, Cents: 250}, {Cents: 1000}}
	require.NoError(t, judgeSpent(t, s))
	s.SpentBefore = s.SpentBefore[:1]
	require.ErrorContains(t, judgeSpent(t, s), "day 3 gives 2750")
	s.SpentBefore = nil
	require.ErrorContains(t, judgeSpent(t, s), "day 0 gives 500")
}

// TestSimulationIsStopped: a run ends with the error of Stop.
func TestSimulationIsStopped(t *testing.T) {
	t.Parallel()
	s := campaign(t, ``, 24, 1_000_000_000, 10, gold(2_000_000_000)) // this would take an hour
	left, calls := errors.New("the caller left"), 0
	s.Stop = func() error {
		if calls++; calls == 10 {
			return left
		}
		return nil
	}
	_, err := odds.Simulate(s)
	require.ErrorIs(t, err, left)
	s.Rate, s.Stop = 1e-6, nil
	_, err = odds.Simulate(s)
	drawtest.Invalid(t, err, "250 years")
}

// TestSimulationIsStoppedWithinItsAgenda: many items may be due at the start of a run, in
// the agenda and hidden. A run also calls Stop between them.
func TestSimulationIsStoppedWithinItsAgenda(t *testing.T) {
	t.Parallel()
	const items = 100_000
	s := campaign(t, ``, 1, 1, 1, gold(1))
	left, calls := errors.New("the caller left"), 0
	s.Stop = func() error {
		if calls++; calls == 10 {
			return left
		}
		return nil
	}
	agenda := make([]draw.Item, items)
	for i := range agenda {
		agenda[i] = restock(s.From, 1)
	}
	s.Agenda = agenda
	_, err := odds.Simulate(s)
	require.ErrorIs(t, err, left)
	calls, s.Agenda, s.Hidden = 0, nil, []draw.Hidden{{PrizeID: "gold", Count: items, From: s.From, To: s.From.Add(draw.TimeStep)}}
	_, err = odds.Simulate(s)
	require.ErrorIs(t, err, left)
}

// TestSimulatedValueSaturates: if the value of a day exceeds the largest number, the
// result is the largest number.
func TestSimulatedValueSaturates(t *testing.T) {
	t.Parallel()
	dear := draw.Prize{ID: "gold", Name: "Gold", Value: draw.ValueMax(), Stocked: 1_000_000}
	const ofBerlin = `{"zone":"Europe/Berlin"}`
	all := simulated(t, campaign(t, ofBerlin, 1, 100_000, 10, dear)) // 10^19 cents
	require.Equal(t, int64(math.MaxInt64), all.Days[0].Cents)
	few := simulated(t, campaign(t, ofBerlin, 1, 1000, 10, dear))
	require.Equal(t, 1000*draw.Cents(draw.ValueMax()), few.Days[0].Cents)
}

// BenchmarkCampaign measures one draw of a campaign. The campaign has 24 days, a million
// draws, a limit of one draw per user and day, a budget, and an agenda of 24,000 hidden
// units.
func BenchmarkCampaign(b *testing.B) {
	s := campaign(b, `{"fallback":"none","win":"1/10","zone":"Europe/Berlin","budget":{"max":"50000.00"},
		"limits":[{"of":"draws","max":1,"per":"day"},{"of":"wins","max":3},{"of":"prize","prize":"gold","max":1,"per":"week"}]}`,
		24, 1_000_000, 210_000, gold(1000), draw.Prize{ID: "tin", Name: "Tin", Value: draw.Amount(50), Stocked: 90_000}, blank())
	s.Hidden = []draw.Hidden{{PrizeID: "gold", Count: 24_000, From: s.From, To: s.From.AddDate(0, 0, 24)}}
	b.ReportAllocs()
	for b.Loop() {
		r := simulated(b, s)
		b.ReportMetric(float64(r.Draws), "draws")
	}
}
