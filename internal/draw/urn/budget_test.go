package urn_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
)

// overspent returns a pool whose budget was lowered below the spent amount. It has a
// prize with a value and a prize without one.
func overspent(t *testing.T) urn.Snapshot {
	rules := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"0.00"}}`)
	none := drawtest.Campaign()[4]
	return urn.Snapshot{
		State: draw.StateOpen, Head: draw.NewHead(), At: noon(), Rules: rules,
		Spending: urn.Spending{From: rules.Budget.Per.Start(noon(), rules.Zone), Cents: 500},
		Prizes: []draw.Prize{
			{ID: "gold", Name: "Gold", Value: decimal.New(500, -2), Stocked: 10},
			{ID: "badge", Name: "Badge", Stocked: 90}, none,
		},
	}
}

// TestBudgetWithholdsNoFreePrize: a prize without value is given even if the budget is
// used up, by the service, in a simulation and in the odds.
func TestBudgetWithholdsNoFreePrize(t *testing.T) {
	pool := overspent(t)
	u := urn.NewUrnFrom("p", keyed(1))
	u.Seen(pool)
	given := map[string]int{}
	for range 50 {
		p := u.Plan([]*urn.Ask{asking("", 1)}, noon())
		a := p.Awards[0]
		given[a.PrizeID]++
		require.Equal(t, a.PrizeID == "none", a.Redirect != nil)
		if a.Redirect != nil {
			require.Equal(t, draw.Redirect{Drawn: "gold", Why: draw.WhyBudget}, *a.Redirect)
		}
		p.Settle()
	}
	require.Positive(t, given["badge"])
	require.Positive(t, given["none"])
	require.Zero(t, given["gold"])
	chances := odds.Of(u, noon()).Odds
	require.Equal(t, "badge", chances[1].PrizeID)
	require.Positive(t, chances[1].Chance.Sign())

	simulated, err := odds.Simulate(odds.Simulation{Pool: pool, SpentBefore: []draw.Spending{pool.Spending}, Draws: 50, Users: 1, Rate: 1, From: noon(), Seed: 1})
	require.NoError(t, err)
	require.Positive(t, simulated.Prizes[1].Count)
	require.Equal(t, simulated.Redirects[draw.WhyBudget], simulated.Prizes[2].Count)
}

// TestFoldOfFreePrizes: a log in which a budget withheld a prize without value is
// unlawful, and one in which it was given is lawful.
func TestFoldOfFreePrizes(t *testing.T) {
	withheld := &draw.Redirect{Drawn: "badge", Why: draw.WhyBudget}
	for _, c := range []struct {
		award draw.Award
		want  []string
	}{
		{draw.Award{PrizeID: "badge"}, nil},
		{draw.Award{PrizeID: "none", Redirect: &draw.Redirect{Drawn: "gold", Why: draw.WhyBudget}}, nil},
		{draw.Award{PrizeID: "none", Redirect: withheld}, []string{fold.RuleRedirectUnlawful}},
	} {
		pool := overspent(t)
		first := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"5.00"}}`)
		f := fold.New("p", pool.Prizes, []*draw.Rules{first, pool.Rules})
		for i, p := range pool.Prizes {
			require.Empty(t, f.Add(draw.Entry{Move: &draw.Move{Version: int64(i + 1), PrizeID: p.ID, Delta: p.Stocked, Stocked: p.Stocked, At: noon()}}))
		}
		rules := func(version int64, r *draw.Rules) {
			require.Empty(t, f.Add(draw.Entry{Change: &draw.Change{Version: version, What: draw.WhatRules, Body: draw.RulesBody(r), At: noon()}}))
		}
		rules(4, first)
		require.Empty(t, f.Add(draw.Entry{Award: &draw.Award{Version: 5, UserID: "u", PrizeID: "gold", Value: pool.Prizes[0].Value, At: noon()}}))
		rules(6, pool.Rules)
		c.award.Version, c.award.UserID, c.award.At = 7, "u", noon().Add(time.Second)
		var got []string
		for _, v := range f.Add(draw.Entry{Award: &c.award}) {
			got = append(got, v.Rule)
		}
		require.Equal(t, c.want, got, "%+v", c.award)
	}
}
