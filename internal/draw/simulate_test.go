package draw_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// simulation is a run on the campaign's prizes under a document, "" for none.
func simulation(t testing.TB, document string, prizes []draw.Prize) draw.Simulation {
	t.Helper()
	s := draw.Simulation{Draws: 200_000, Users: 1000, Rate: 50, From: noon(), Seed: 1}
	s.Pool.Prizes = prizes
	if document != "" {
		s.Pool.Rules = rulesOf(t, document)
	}
	return s
}

func simulated(t testing.TB, s draw.Simulation) draw.Simulated {
	t.Helper()
	r, err := draw.Simulate(s)
	require.NoError(t, err)
	return r
}

func large() []draw.Prize {
	prizes := campaign()
	for i := range prizes[:4] {
		prizes[i].Stocked *= 1_000_000
	}
	return prizes
}

// TestSimulate: each law meets its exact expectation, and the same seed gives
// the same run.
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
	_, err := draw.Simulate(draw.Simulation{Draws: 1, Users: 1})
	invalid(t, err, "above 0")
	bad := simulation(t, `{"fallback":"other"}`, large())
	_, err = draw.Simulate(bad)
	invalid(t, err, "no prize of the pool")
}

// TestSimulateToTheEnd: an urn that is emptied gives all it has.
func TestSimulateToTheEnd(t *testing.T) {
	s := simulation(t, ``, campaign())
	s.Draws = 3000
	r := simulated(t, s)
	require.Equal(t, int64(2000), r.Draws)
	require.Equal(t, map[draw.Code]int64{draw.CodeSoldOut: 1000}, r.Refusals)
	var last int64
	for i, p := range r.Prizes[:4] {
		require.Equal(t, campaign()[i].Stocked, p.Count)
		require.Zero(t, *p.Z)
		last = max(last, p.SoldOutAfter)
	}
	require.Equal(t, int64(2000), last)
	s.Pool.Rules = rulesOf(t, `{"fallback":"none"}`)
	r = simulated(t, s)
	require.Equal(t, int64(1000), r.Prizes[4].Count)
	require.Empty(t, r.Refusals)
}

// TestSimulateLimitsAndBudget: nobody passes a limit, and the budget holds.
func TestSimulateLimitsAndBudget(t *testing.T) {
	s := simulation(t, `{"fallback":"none","limits":[{"of":"draws","max":3,"per":"hour"}],"budget":{"max":"1000.00"}}`, large())
	s.Draws, s.Rate = 100_000, 10 // 10,000 s: three hours are begun
	r := simulated(t, s)
	require.Equal(t, int64(3*3*1000), r.Draws, "three in each hour for each user")
	require.Equal(t, int64(100_000-9000), r.Refusals[draw.CodeLimitReached])
	require.LessOrEqual(t, r.Spent, int64(100_000))
	require.Greater(t, r.Spent, int64(100_000-500), "a silver is withheld once it does not fit")
	require.Equal(t, r.Prizes[0].Count*5000+r.Prizes[1].Count*500, r.Spent)
	require.Positive(t, r.Redirects[draw.WhyBudget])
}

// missesInARow is the longest run of draws without a win of one user who draws
// n times, and the number of his wins. wrong, where not nil, spoils what is read
// of his last turn.
func missesInARow(t *testing.T, u *draw.Urn, n int, wrong func(*draw.Turn)) (longest int, wins int64) {
	var last draw.Turn
	run, asks := 0, []*draw.Ask{asking("d", 1)}
	for i := range n {
		f := nobody(u, asks...)
		if last.Seq > 0 {
			if wrong != nil {
				wrong(&last)
			}
			f.Add(last)
		}
		p := u.PlanWith(asks, f, noon().Add(time.Duration(i)*time.Second))
		require.NoError(t, p.Err(0))
		p.Settle()
		require.Len(t, p.Turns, 1)
		last = p.Turns[0]
		run++
		if p.Awards[0].Win() {
			run = 0
			wins++
		}
		longest = max(longest, run)
	}
	return longest, wins
}

// winsOf are the mean and the variance of the wins in n draws, many more than
// the cycle, each of which wins with chance p, and surely behind after misses.
func winsOf(p float64, after int, n float64) (mean, variance float64) {
	var length, square float64
	left := 1.0 // the chance that no draw of the cycle has won
	for k := 1; k <= after+1; k++ {
		ends := left * p
		if k > after {
			ends = left
		}
		length += ends * float64(k)
		square += ends * float64(k*k)
		left -= ends
	}
	return n / length, n * (square - length*length) / (length * length * length)
}

// TestGuarantee: after nine misses the tenth draw wins, so the rate is 10.93 %.
// A count that is one off, or that starts again with each redirect, is caught.
func TestGuarantee(t *testing.T) {
	const n = 200_000
	const document = `{"win":"1/50","fallback":"none","guarantee":{"after":9,"prize":"bronze"}}`
	prizes := large()
	prizes[3].Stocked = 0 // no blank in the urn: the chance of a win is constant
	u := under(t, document, prizes)
	rate, _ := u.Odds(noon()).Guarantee.Rate.Float64()
	require.InDelta(t, 0.1093, rate, 0.00005)
	mean, variance := winsOf(0.02, 9, n)
	require.InDelta(t, rate, mean/n, 1e-9)
	fits := func(wins int64) bool { return math.Abs(float64(wins)-mean) < 5.5*math.Sqrt(variance) }

	longest, wins := missesInARow(t, u, n, nil)
	require.Equal(t, 9, longest, "never ten")
	require.True(t, fits(wins), "%d wins, %.0f expected", wins, mean)

	for name, wrong := range map[string]func(*draw.Turn){
		"one late":            func(t *draw.Turn) { t.Run = max(t.Run-1, 0) },
		"one early":           func(t *draw.Turn) { t.Run++ },
		"counts from the log": func(t *draw.Turn) { t.Run = t.Seq },
		"kept in memory":      func(t *draw.Turn) { t.Run %= 7 },
	} {
		longest, wins := missesInARow(t, under(t, document, prizes), n, wrong)
		require.False(t, longest == 9 && fits(wins), name)
	}

	r := simulated(t, simulation(t, document, prizes))
	require.NotNil(t, r.Guarantee)
	require.Less(t, math.Abs(r.Guarantee.Z), 6.0, "%+v", r.Guarantee)
	require.Equal(t, r.Guarantee.Wins, r.Prizes[0].Count+r.Prizes[1].Count+r.Prizes[2].Count)
	fixed := simulated(t, simulation(t, `{"odds":{"of":1000,"prizes":{"gold":1,"silver":2,"bronze":3,"lost":90}},"fallback":"none",
		"guarantee":{"after":89,"prize":"bronze"}}`, large()))
	require.Less(t, math.Abs(fixed.Guarantee.Z), 6.0, "%+v", fixed.Guarantee)
}

// TestWinsAreExpected: the mean and the spread that the wins of a user are held
// to are those of all outcomes of his few draws.
func TestWinsAreExpected(t *testing.T) {
	const p, states, draws = 0.3, 3, 6
	var mean, square float64
	for outcomes := range 1 << draws {
		chance, run, wins := 1.0, 0, 0.0
		for i := range draws {
			win, now := outcomes>>i&1 == 1, p
			if run == states-1 {
				now = 1
			}
			if win {
				chance *= now
				run = 0
				wins++
			} else {
				chance *= 1 - now
				run++
			}
		}
		mean += chance * wins
		square += chance * wins * wins
	}
	s := simulation(t, `{"fallback":"none","odds":{"of":10,"prizes":{"gold":3,"silver":0,"bronze":0}},"guarantee":{"after":2,"prize":"gold"}}`, large())
	s.Users, s.Draws = 1, draws
	seen := map[int64]bool{}
	for s.Seed = range uint64(50) {
		g := simulated(t, s).Guarantee
		seen[g.Wins] = true
		require.InDelta(t, mean, g.Expected*draws, 1e-12)
		require.InDelta(t, draw.Deviations(float64(g.Wins), mean, square-mean*mean, draws), g.Z, 1e-9)
	}
	require.Greater(t, len(seen), 2)
}

// TestGuaranteeWithheld: while the guaranteed prize is sold out, over a limit or
// over the budget, the outcome stays as it was; misses go on, and it is given as
// soon as it may be.
func TestGuaranteeWithheld(t *testing.T) {
	for document, spoil := range map[string]func([]draw.Prize){
		`{"win":"1/1000000000","fallback":"none","guarantee":{"after":0,"prize":"gold"}}`:                          func(p []draw.Prize) { p[0].Issued = p[0].Stocked },
		`{"win":"1/1000000000","fallback":"none","guarantee":{"after":0,"prize":"gold"},"budget":{"max":"49.99"}}`: nil,
	} {
		prizes := campaign()
		if spoil != nil {
			spoil(prizes)
		}
		longest, wins := missesInARow(t, under(t, document, prizes), 50, nil)
		require.Equal(t, 50, longest, document)
		require.Zero(t, wins)
	}
	// A blank of the urn is replaced, and stays in it.
	u := under(t, `{"fallback":"none","guarantee":{"after":0,"prize":"gold"}}`, []draw.Prize{
		{ID: "gold", Name: "Gold", Stocked: 0}, {ID: "lost", Name: "Lost", Kind: draw.KindBlank, Stocked: 2},
		{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	})
	plan := func() draw.Award {
		a := asking("d", 1)
		p := u.PlanWith([]*draw.Ask{a}, nobody(u, a), noon())
		require.NoError(t, p.Err(0))
		p.Settle()
		return p.Awards[0]
	}
	require.Equal(t, "lost", plan().PrizeID)
	u.Seen(draw.Snapshot{
		State: draw.StateOpen, Head: u.Next(1), Rules: u.Rules(), Prizes: []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 1}},
	})
	a := plan()
	require.Equal(t, "gold", a.PrizeID)
	if a.Redirect != nil { // gold itself may have been drawn
		require.Equal(t, &draw.Redirect{Drawn: "lost", Why: draw.WhyGuarantee}, a.Redirect)
	}
	require.Equal(t, int64(1), u.Remaining(), "the blank stays")
}

// BenchmarkSimulate is one draw: 3 µs are 3 s for a million.
func BenchmarkSimulate(b *testing.B) {
	for name, document := range map[string]string{"rules=none": ``, "rules=all": whole} {
		b.Run(name, func(b *testing.B) {
			s := simulation(b, document, large())
			s.Users, s.Rate, s.Draws = 10_000, 1, b.N
			b.ReportAllocs()
			_, err := draw.Simulate(s)
			require.NoError(b, err)
		})
	}
}

// BenchmarkPlan is one batch of requests of one unit each, planned and undone.
func BenchmarkPlan(b *testing.B) {
	for name, document := range map[string]string{"rules=none": ``, "rules=win": `{"win":"1/50","fallback":"none"}`} {
		b.Run(name, func(b *testing.B) {
			prizes := prizesOf(slices.Repeat([]int64{1e9}, 10))
			u := draw.NewUrn("p")
			restocked(u, prizes...)
			if document != "" {
				u = under(b, document, append(prizes, campaign()[4]))
			}
			asks := make([]*draw.Ask, 64)
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

// TestRareWinsAreNoAlarm: a prize that is seldom drawn is drawn all the same, and
// what chance does not explain is an alarm.
func TestRareWinsAreNoAlarm(t *testing.T) {
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
		{100_500, 100_000, 90_000, 1e6, 1.67},    // as off by so many standard deviations
		{901, 900, 0.01, 1000, 10},               // most units were drawn, without replacement
		{1, 0, 0, 1000, math.Inf(1)},             // chance 0
		{100, 100 + 1e-9, 0, 100, 0},             // rounding
		{5e8 - 1, 5e8, 2.5e8, 1e9, -1 / 15811.0}, // close to the mean
	} {
		if z := draw.Deviations(far.count, far.mean, far.variance, far.n); !math.IsInf(far.z, 1) || !math.IsInf(z, 1) {
			require.InDelta(t, far.z, z, 0.2, "%+v", far)
		}
	}
}
