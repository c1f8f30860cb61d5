package urn_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
)

// missesInARow lets one user draw n times. It returns the longest run of draws without a
// win, and the number of wins. wrong, unless it is nil, falsifies the last turn that was
// read.
func missesInARow(t *testing.T, u *urn.Urn, n int, wrong func(*draw.Turn)) (longest int, wins int64) {
	var last draw.Turn
	run, asks := 0, []*urn.Ask{asking("d", 1)}
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

// winsOf returns the mean and the variance of the wins in n draws. Each draw wins with
// chance p, and always after the given number of misses. n must be much larger than that
// number.
func winsOf(p float64, after int, n float64) (mean, variance float64) {
	var length, square float64
	left := 1.0 // the chance that no draw of the cycle has won so far
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

// TestGuarantee: after nine misses the tenth draw wins, so the rate is 10.93 %. The
// test fails for a count that is off by one, or that restarts at each redirect.
func TestGuarantee(t *testing.T) {
	const n = 200_000
	const document = `{"win":"1/50","fallback":"none","guarantee":{"after":9,"prize":"bronze"}}`
	prizes := large()
	prizes[3].Stocked = 0 // no blank in the urn: the chance of a win is constant
	u := under(t, document, prizes)
	rate, _ := odds.Of(u, noon()).Guarantee.Rate.Float64()
	require.InDelta(t, 0.1093, rate, 0.00005)
	mean, _ := winsOf(0.02, 9, n)
	require.InDelta(t, rate, mean/n, 1e-9)
	fits := func(wins int64, n float64) bool {
		mean, variance := winsOf(0.02, 9, n)
		return math.Abs(float64(wins)-mean) < 5.5*math.Sqrt(variance)
	}

	longest, wins := missesInARow(t, u, n, nil)
	require.Equal(t, 9, longest, "never ten")
	require.True(t, fits(wins, n), "%d wins, %.0f expected", wins, mean)

	for name, wrong := range map[string]func(*draw.Turn){
		"one late":            func(t *draw.Turn) { t.Run = max(t.Run-1, 0) },
		"one early":           func(t *draw.Turn) { t.Run++ },
		"counts from the log": func(t *draw.Turn) { t.Run = t.Seq },
		"kept in memory":      func(t *draw.Turn) { t.Run %= 7 },
	} {
		longest, wins := missesInARow(t, under(t, document, prizes), n/10, wrong)
		require.False(t, longest == 9 && fits(wins, n/10), name)
	}

	r := simulated(t, simulation(t, document, prizes))
	require.NotNil(t, r.Guarantee)
	require.Less(t, math.Abs(r.Guarantee.Z), 6.0, "%+v", r.Guarantee)
	require.Equal(t, r.Guarantee.Wins, r.Prizes[0].Count+r.Prizes[1].Count+r.Prizes[2].Count)
	fixed := simulated(t, simulation(t, `{"odds":{"of":1000,"prizes":{"gold":1,"silver":2,"bronze":3,"lost":90}},"fallback":"none",
		"guarantee":{"after":89,"prize":"bronze"}}`, large()))
	require.Less(t, math.Abs(fixed.Guarantee.Z), 6.0, "%+v", fixed.Guarantee)
}

// TestWinsAreExpected: the expected mean and variance of a user's wins in a few draws
// equal those of a list of all possible outcomes.
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
		require.InDelta(t, odds.Deviations(float64(g.Wins), mean, square-mean*mean, draws), g.Z, 1e-9)
	}
	require.Greater(t, len(seen), 2)
}

// TestGuaranteeWithheld: while the guaranteed prize is sold out, over a limit or over the
// budget, the outcome does not change. Misses still count, and the prize is given as soon
// as it may be given.
func TestGuaranteeWithheld(t *testing.T) {
	for document, spoil := range map[string]func([]draw.Prize){
		`{"win":"1/1000000000","fallback":"none","guarantee":{"after":0,"prize":"gold"}}`:                          func(p []draw.Prize) { p[0].Issued = p[0].Stocked },
		`{"win":"1/1000000000","fallback":"none","guarantee":{"after":0,"prize":"gold"},"budget":{"max":"49.99"}}`: nil,
	} {
		prizes := drawtest.Campaign()
		if spoil != nil {
			spoil(prizes)
		}
		longest, wins := missesInARow(t, under(t, document, prizes), 50, nil)
		require.Equal(t, 50, longest, document)
		require.Zero(t, wins)
	}
	// A blank that was drawn is replaced, and stays in the urn.
	u := under(t, `{"fallback":"none","guarantee":{"after":0,"prize":"gold"}}`, []draw.Prize{
		{ID: "gold", Name: "Gold", Stocked: 0}, {ID: "lost", Name: "Lost", Kind: draw.KindBlank, Stocked: 2},
		{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	})
	plan := func() draw.Award {
		a := asking("d", 1)
		p := u.PlanWith([]*urn.Ask{a}, nobody(u, a), noon())
		require.NoError(t, p.Err(0))
		p.Settle()
		return p.Awards[0]
	}
	require.Equal(t, "lost", plan().PrizeID)
	u.Seen(urn.Snapshot{
		State: draw.StateOpen, Head: u.Next(1), Rules: u.Rules(), Prizes: []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 1}},
	})
	a := plan()
	require.Equal(t, "gold", a.PrizeID)
	if a.Redirect != nil { // gold itself may have been drawn
		require.Equal(t, &draw.Redirect{Drawn: "lost", Why: draw.WhyGuarantee}, a.Redirect)
	}
	require.Equal(t, int64(1), u.Remaining(), "the blank stays")
}
