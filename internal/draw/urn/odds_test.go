package urn_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
)

func stated(s odds.Statement) (list []string) {
	for _, c := range s.Odds {
		list = append(list, c.PrizeID+" "+c.Chance.RatString())
	}
	return append(list, "none "+s.None.RatString())
}

func TestOdds(t *testing.T) {
	for _, c := range []struct {
		document string
		law      odds.Law
		want     []string
		rate     string
	}{
		{`{}`, odds.LawStock, []string{"gold 1/200", "silver 9/200", "bronze 1/2", "lost 9/20", "none 0"}, ""},
		{`{"win":"1/50","fallback":"none"}`, odds.LawStock, []string{"gold 1/10000", "silver 9/10000", "bronze 1/100", "lost 9/1000", "none 49/50"}, ""},
		{`{"fallback":"none","odds":{"of":1000000,"prizes":{"gold":10,"silver":500,"bronze":0}}}`, odds.LawFixed,
			[]string{"gold 1/100000", "silver 1/2000", "bronze 0", "lost 0", "none 99949/100000"}, ""},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":1,"silver":4,"bronze":0}},"guarantee":{"after":1,"prize":"gold"}}`, odds.LawFixed,
			[]string{"gold 1/10", "silver 2/5", "bronze 0", "lost 0", "none 1/2"}, "2/3"},
		// Prizes that nobody can win have chance 0: their value exceeds the budget, or
		// the consolation prize replaces them.
		{`{"fallback":"none","budget":{"max":"49.99"}}`, odds.LawStock, []string{"gold 0", "silver 9/200", "bronze 1/2", "lost 9/20", "none 1/200"}, ""},
		{`{"win":"1/2","fallback":"none","guarantee":{"after":0,"prize":"bronze"}}`, odds.LawStock,
			[]string{"gold 1/400", "silver 9/400", "bronze 39/40", "lost 0", "none 0"}, "nil"},
	} {
		s := odds.Of(under(t, c.document, drawtest.Campaign()), noon())
		require.Equal(t, c.law, s.Law)
		require.Equal(t, int64(10), s.Version)
		require.Equal(t, c.want, stated(s), c.document)
		switch {
		case c.rate == "":
			require.Nil(t, s.Guarantee)
		case c.rate == "nil":
			require.Nil(t, s.Guarantee.Rate, "a blank in the urn: the chance of a win is not constant")
		default:
			require.Equal(t, c.rate, s.Guarantee.Rate.RatString())
		}
	}
	sold := drawtest.Campaign()
	sold[0].Issued = sold[0].Stocked
	require.Equal(t, []string{"gold 0", "silver 1/2", "bronze 0", "lost 0", "none 1/2"},
		stated(odds.Of(under(t, `{"fallback":"none","odds":{"of":4,"prizes":{"gold":1,"silver":2,"bronze":0}}}`, sold), noon())), "gold is sold out")
	require.Equal(t, []string{"p0 1/4", "p1 3/4", "none 0"}, stated(odds.Of(urnOf(draw.StateOpen, 1, 3), noon())), "no rules")
}

// TestGuaranteeRate checks the examples of the documentation, and a fraction that is too
// long to state.
func TestGuaranteeRate(t *testing.T) {
	rate := func(a, b, after int) *big.Rat {
		return odds.Of(under(t, fmt.Sprintf(`{"fallback":"none","odds":{"of":%d,"prizes":{"gold":%d,"silver":0,"bronze":0}},"guarantee":{"after":%d,"prize":"bronze"}}`, b, a, after),
			drawtest.Campaign()), noon()).Guarantee.Rate
	}
	for _, c := range []struct {
		a, b, after int
		want        float64
	}{{1, 50, 9, 0.109333}, {6, 1000, 89, 0.014353}, {0, 1, 3, 0.25}, {1, 1, 9, 1}, {1, 2, 0, 1}} {
		got, _ := rate(c.a, c.b, c.after).Float64()
		require.InDelta(t, c.want, got, 0.00001, "%v", c)
	}
	require.Nil(t, rate(1, 1_000_000_000, 100_000))
}

// TestOddsOfAUser: a user gets the refusal of a gate, or the odds of the user's own next
// draw. No random number is used.
func TestOddsOfAUser(t *testing.T) {
	c := &counting{}
	u := urn.NewUrnFrom("p", c)
	r := drawtest.Rules(t, `{"tickets":true,"blocked":["bad"],"fallback":"none","win":"1/2","guarantee":{"after":2,"prize":"bronze"},
		"limits":[{"of":"draws","max":3,"per":"day"},{"of":"prize","prize":"gold","max":1}]}`)
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead().Next(1), Prizes: drawtest.Campaign(), Rules: r})
	f := urn.NewFacts(append(u.NeedsOf(player("u")), u.NeedsOf(player("bad"))...))
	_, err := odds.OfPlayer(u, player("bad"), f, noon())
	refused(t, draw.CodeUserBlocked, err)
	_, err = odds.OfPlayer(u, player("unread"), f, noon())
	refused(t, draw.CodeInternal, err)
	chances := func() []string {
		s, err := odds.OfPlayer(u, player("u"), f, noon())
		require.NoError(t, err)
		return stated(s)
	}
	require.Equal(t, []string{"gold 1/400", "silver 9/400", "bronze 1/4", "lost 9/40", "none 1/2"}, chances())
	f.Add(draw.Turn{Subject: "u", Counted: draw.CountedPrize("gold"), Seq: 1})
	require.Equal(t, []string{"gold 0", "silver 9/400", "bronze 1/4", "lost 9/40", "none 201/400"}, chances())
	f.Add(draw.Turn{Subject: "u", Counted: draw.CountedMiss, Seq: 9, Run: 2})
	require.Equal(t, []string{"gold 0", "silver 9/400", "bronze 391/400", "lost 0", "none 0"}, chances(), "all that is lost is bronze")
	for seq := range int64(3) {
		f.Add(draw.Turn{Subject: "u", Counted: draw.CountedDraw, Seq: seq + 1, At: noon().Add(-time.Duration(3-seq) * time.Hour)})
	}
	_, err = odds.OfPlayer(u, player("u"), f, noon())
	require.Equal(t, noon().Add(12*time.Hour), refused(t, draw.CodeLimitReached, err).Reached.RetryAt)
	require.Empty(t, c.limits)

	s, err := u.Standing(player("u"), f, noon())
	require.NoError(t, err)
	require.Equal(t, urn.Standing{Misses: 2, GuaranteedIn: 1, Limits: []urn.LimitStanding{
		{Limit: r.Limits[0], Used: 3, ResetsAt: noon().Add(12 * time.Hour)}, {Limit: r.Limits[1], Used: 1},
	}}, s)
	s, err = u.Standing(player("u"), f, noon().AddDate(0, 0, 1))
	require.NoError(t, err)
	require.Equal(t, urn.LimitStanding{Limit: r.Limits[0], Left: 3}, s.Limits[0])
	s, err = u.Standing(player("bad"), f, noon())
	require.NoError(t, err)
	require.True(t, s.Blocked)
	require.Equal(t, int64(3), s.GuaranteedIn)
}

// TestOddsAddUp: under any rules the sum of the chances is 1, and every possible result
// of the next draw has a chance.
func TestOddsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		b.run(t)
		at := b.model.at
		s, err := odds.OfPlayer(b.urn, player("u0"), b.facts(b.urn.NeedsOf(player("u0"))), at)
		a := of("u0", asking("next", 1))
		p := b.urn.PlanWith([]*urn.Ask{a}, b.facts(b.urn.Needs([]*urn.Ask{a})), at)
		require.Equal(t, draw.CodeOf(err), draw.CodeOf(p.Err(0)), "the gates are the same")
		if err != nil {
			return
		}
		sum := new(big.Rat).Set(s.None)
		given := map[string]*big.Rat{"none": s.None}
		for _, c := range s.Odds {
			sum.Add(sum, c.Chance)
			given[c.PrizeID] = c.Chance
		}
		require.Equal(t, "1", sum.RatString())
		require.Positive(t, given[p.Awards[0].PrizeID].Sign())
	})
}
