package urn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
)

// simulation returns a run on the campaign's prizes under a document, "" for none.
func simulation(t testing.TB, document string, prizes []draw.Prize) odds.Simulation {
	t.Helper()
	s := odds.Simulation{Draws: 200_000, Users: 1000, Rate: 50, From: noon(), Seed: 1}
	s.Pool.Prizes = prizes
	if document != "" {
		s.Pool.Rules = drawtest.Rules(t, document)
	}
	return s
}

func simulated(t testing.TB, s odds.Simulation) odds.Simulated {
	t.Helper()
	r, err := odds.Simulate(s)
	require.NoError(t, err)
	return r
}

func large() []draw.Prize {
	prizes := drawtest.Campaign()
	for i := range prizes[:4] {
		prizes[i].Stocked *= 1_000_000
	}
	return prizes
}

// TestSimulate: under each law the results agree with the exact expectation, and the same
// seed gives the same run.
func TestSimulate(t *testing.T) {
	for document, expected := range map[string][]float64{
		``:                                    {0.005, 0.045, 0.5, 0.45, -1},
		`{"win":"1/50","fallback":"none"}`:    {0.0001, 0.0009, 0.01, 0.009, 0.98},
		`{"limits":[{"of":"draws","max":5}]}`: {0.005, 0.045, 0.5, 0.45, -1},
		`{"fallback":"none","odds":{"of":10,"prizes":{"gold":1,"silver":2,"bronze":0}}}`:                                             {0.1, 0.2, 0, 0, 0.7},
		`{"fallback":"none","odds":{"of":10,"prizes":{"gold":1,"silver":2,"bronze":0}},"limits":[{"of":"wins","max":5,"per":"1h"}]}`: {0.1, 0.2, 0, 0, 0.7},
		`{"fallback":"none","limits":[{"of":"wins","max":5}]}`:                                                                       {-1, -1, -1, -1, -1},
	} {
		s := simulation(t, document, large())
		r := simulated(t, s)
		require.Equal(t, r, simulated(t, s))
		for i, want := range expected {
			p := r.Prizes[i]
			if want < 0 {
				require.Nil(t, p.Expected, document)
				continue
			}
			require.InDelta(t, want, *p.Expected, 1e-12, document)
			require.Less(t, math.Abs(*p.Z), 6.0, "%s: %+v", document, p)
		}
	}
	_, err := odds.Simulate(odds.Simulation{Draws: 1, Users: 1})
	drawtest.Invalid(t, err, "above 0")
	bad := simulation(t, `{"fallback":"other"}`, large())
	_, err = odds.Simulate(bad)
	drawtest.Invalid(t, err, "no prize of the pool")
}

// TestSimulateToTheEnd: an urn that is emptied gives all its units.
func TestSimulateToTheEnd(t *testing.T) {
	s := simulation(t, ``, drawtest.Campaign())
	s.Draws = 3000
	r := simulated(t, s)
	require.Equal(t, int64(2000), r.Draws)
	require.Equal(t, map[draw.Code]int64{draw.CodeSoldOut: 1000}, r.Refusals)
	var last int64
	for i, p := range r.Prizes[:4] {
		require.Equal(t, drawtest.Campaign()[i].Stocked, p.Count)
		require.Zero(t, *p.Z)
		last = max(last, p.SoldOutAfter)
	}
	require.Equal(t, int64(2000), last)
	s.Pool.Rules = drawtest.Rules(t, `{"fallback":"none"}`)
	r = simulated(t, s)
	require.Equal(t, int64(1000), r.Prizes[4].Count)
	require.Empty(t, r.Refusals)
}

// TestSimulateLimitsAndBudget: no user exceeds a limit, and the budget is kept.
func TestSimulateLimitsAndBudget(t *testing.T) {
	s := simulation(t, `{"fallback":"none","limits":[{"of":"draws","max":3,"per":"hour"}],"budget":{"max":"1000.00"}}`, large())
	s.Draws, s.Rate = 100_000, 10 // 10,000 s: part of three hours
	r := simulated(t, s)
	require.Equal(t, int64(3*3*1000), r.Draws, "three in each hour for each user")
	require.Equal(t, int64(100_000-9000), r.Refusals[draw.CodeLimitReached])
	require.LessOrEqual(t, r.Spent, int64(100_000))
	require.Greater(t, r.Spent, int64(100_000-500), "a silver is withheld once it does not fit")
	require.Equal(t, r.Prizes[0].Count*5000+r.Prizes[1].Count*500, r.Spent)
	require.Positive(t, r.Redirects[draw.WhyBudget])
}

// BenchmarkSimulate measures one draw: 3 µs are 3 s for a million.
func BenchmarkSimulate(b *testing.B) {
	for name, document := range map[string]string{"rules=none": ``, "rules=all": drawtest.Whole} {
		b.Run(name, func(b *testing.B) {
			s := simulation(b, document, large())
			s.Users, s.Rate, s.Draws = 10_000, 1, b.N
			b.ReportAllocs()
			_, err := odds.Simulate(s)
			require.NoError(b, err)
		})
	}
}

// BenchmarkPlan measures one batch of requests of one unit each, planned and undone.
func BenchmarkPlan(b *testing.B) {
	for name, document := range map[string]string{"rules=none": ``, "rules=win": `{"win":"1/50","fallback":"none"}`} {
		b.Run(name, func(b *testing.B) {
			prizes := prizesOf(slices.Repeat([]int64{1e9}, 10))
			u := urn.NewUrn("p")
			restocked(u, prizes...)
			if document != "" {
				u = under(b, document, append(prizes, drawtest.Campaign()[4]))
			}
			asks := make([]*urn.Ask, 64)
			for i := range asks {
				asks[i] = asking(string(rune('a'+i)), 1)
			}
			b.ReportAllocs()
			for b.Loop() {
				u.Plan(asks, noon()).Undo()
			}
		})
	}
}

// TestDeviationsFollowTheChanceOfTheCount: a win of a rare prize raises no alarm, and a
// count that chance does not explain raises one.
func TestDeviationsFollowTheChanceOfTheCount(t *testing.T) {
	prizes := []draw.Prize{{ID: "gold", Stocked: 10}, {ID: "none", Kind: draw.KindBlank, Stocked: draw.EndlessStock}}
	rare := simulation(t, `{"fallback":"none","odds":{"of":1000000,"prizes":{"gold":1}}}`, prizes)
	rare.Draws = 10_000
	drawn := int64(0)
	for rare.Seed = range uint64(100) {
		p := simulated(t, rare).Prizes[0]
		drawn += p.Drawn
		require.Less(t, math.Abs(*p.Z), 5.0, "%+v", p)
	}
	require.Positive(t, drawn)
	for _, far := range []struct{ count, mean, variance, n, z float64 }{
		{1, 0.01, 0.01, 1e4, 2.7},                // in one run of a hundred
		{5, 0.01, 0.01, 1e4, 7.2},                // never
		{0, 100, 99, 1e4, -14.1},                 // never
		{100_500, 100_000, 90_000, 1e6, 1.67},    // close to plain standard deviations
		{901, 900, 0.01, 1000, 10},               // most units were drawn, without replacement
		{1, 0, 0, 1000, math.Inf(1)},             // chance 0
		{100, 100 + 1e-9, 0, 100, 0},             // rounding
		{5e8 - 1, 5e8, 2.5e8, 1e9, -1 / 15811.0}, // close to the mean
	} {
		if z := odds.Deviations(far.count, far.mean, far.variance, far.n); !math.IsInf(far.z, 1) || !math.IsInf(z, 1) {
			require.InDelta(t, far.z, z, 0.2, "%+v", far)
		}
	}
}
