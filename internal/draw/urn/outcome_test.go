package urn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
)

// outcomes plans n draws of one user, each from the same state, and counts the results.
func outcomes(u *urn.Urn, f *urn.Facts, n int) map[string]int64 {
	won := map[string]int64{}
	for i := range n {
		u.Version = int64(i) // other numbers, the same stock
		p := u.PlanWith([]*urn.Ask{asking("d", 1)}, f, noon())
		if p.Err(0) != nil {
			won[string(draw.CodeOf(p.Err(0)))]++
			continue
		}
		a := p.Awards[0]
		if r := a.Redirect; r != nil {
			won["drawn "+r.Drawn]++
		}
		won[a.PrizeID]++
		p.Undo()
	}
	return won
}

// judged compares the results with the weights of the possible results.
func judged(won map[string]int64, cells []string, weights []int64) error {
	s := drawtest.Sample{Stock: weights}
	var all, known int64
	for _, n := range won {
		all += n
	}
	for _, c := range cells {
		s.Wins = append(s.Wins, won[c])
		known += won[c]
	}
	if all != known {
		return fmt.Errorf("%v: something else came out", won)
	}
	return drawtest.Judge(s)
}

// TestLimitMovesNoOdds: a user who has reached the limit of gold still wins silver with
// the usual chance, and is never refused. Each unit of gold that was drawn is recorded.
// The test fails for an urn that repeats a draw until the result is allowed, or that
// refuses after the draw.
func TestLimitMovesNoOdds(t *testing.T) {
	prizes := drawtest.Campaign()
	prizes[2].Stocked = 0
	const n = 100_000
	u := under(t, `{"fallback":"none","limits":[{"of":"prize","prize":"gold","max":1}]}`, prizes)
	f := nobody(u, asking("d", 1))
	f.Add(draw.Turn{Subject: "u", Counted: draw.CountedPrize("gold"), Seq: 1})
	won := outcomes(u, f, n)
	require.Equal(t, won["none"], won["drawn gold"], "each gold that was drawn is recorded")
	delete(won, "drawn gold")
	cells, weights := []string{"none", "silver", "lost"}, []int64{10, 90, 900}
	require.NoError(t, judged(won, cells, weights))
	require.Equal(t, int64(n), won["none"]+won["silver"]+won["lost"])

	numbers := keyed(1).Of(1)
	redraw, refuse := map[string]int64{}, map[string]int64{}
	for range n {
		unit := numbers.Below(1000)
		if unit < 10 {
			refuse["limit-reached"]++
			unit = 10 + numbers.Below(990)
		} else {
			refuse[map[bool]string{true: "silver", false: "lost"}[unit < 100]]++
		}
		redraw[map[bool]string{true: "silver", false: "lost"}[unit < 100]]++
	}
	require.Error(t, judged(redraw, cells, weights))
	require.Error(t, judged(refuse, cells, weights))

	// If gold is withheld, the next award gets another prize with the usual chance: no
	// other prize gets less.
	stated, err := odds.OfPlayer(u, player("u"), f, noon())
	require.NoError(t, err)
	require.Equal(t, "9/100", stated.Odds[1].Chance.String())
	require.Equal(t, "1/100", stated.None.String())
}

// TestWinAndFixedLaw: a draw takes a unit of the urn with the chance win. The fixed law
// gives the share of a sold-out prize to the fallback. The test fails for a double that
// distributes this share to other prizes, one that puts the fallback into the urn, and
// one with shares in floating point.
func TestWinAndFixedLaw(t *testing.T) {
	const n = 200_000
	prizes := drawtest.Campaign()
	u := under(t, `{"win":"1/50","fallback":"none"}`, prizes)
	cells := []string{"gold", "silver", "bronze", "lost", "none"}
	byWin := []int64{10, 90, 1000, 900, 49 * 2000}
	require.NoError(t, judged(outcomes(u, nil, n), cells, byWin))

	weighed := map[string]int64{}
	numbers := keyed(2).Of(1)
	all := []int64{10, 90, 1000, 900, draw.EndlessStock}
	for range n {
		weighed[cells[find(all, numbers.Below(2000+draw.EndlessStock))]]++
	}
	require.Error(t, judged(weighed, cells, byWin), "the fallback in the urn")

	prizes[0].Issued = prizes[0].Stocked
	u = under(t, `{"fallback":"none","odds":{"of":1000,"prizes":{"silver":300,"gold":100,"bronze":50,"lost":150}}}`, prizes)
	won := outcomes(u, nil, n)
	require.NoError(t, judged(map[string]int64{"gold": won["drawn gold"]}, []string{"gold"}, []int64{1}))
	require.Positive(t, won["drawn gold"])
	require.Zero(t, won["gold"])
	delete(won, "drawn gold")
	byOdds := []int64{300, 50, 150, 500}
	cells = []string{"silver", "bronze", "lost", "none"}
	require.NoError(t, judged(won, cells, byOdds))

	redistributed := map[string]int64{}
	rest := []int64{300, 50, 150, 400}
	for range n {
		redistributed[cells[find(rest, numbers.Below(900))]]++
	}
	require.Error(t, judged(redistributed, cells, byOdds))

	u = under(t, `{"win":"1/60","fallback":"none"}`, drawtest.Campaign())
	cells = []string{"gold", "silver", "bronze", "lost", "none"}
	byWin = []int64{10, 90, 1000, 900, 59 * 2000}
	require.NoError(t, judged(outcomes(u, nil, n), cells, byWin))
	float, truncated := 1.0/60, map[string]int64{}
	for range n {
		cell := "none"
		if numbers.Below(100) < int64(float*100) { // 1 % instead of 1.67 %
			cell = cells[find(byWin[:4], numbers.Below(2000))]
		}
		truncated[cell]++
	}
	require.Error(t, judged(truncated, cells, byWin), "a chance in floats, cut off")
}

// counting returns only 0, and records the limits of the requested numbers.
type counting struct{ limits []int64 }

func (c *counting) Of(int64) urn.Numbers { return c }

func (c *counting) Below(limit int64) int64 { c.limits = append(c.limits, limit); return 0 }

// TestOrderOfNumbers: a unit uses exactly the numbers that the contract of [urn.Numbers]
// states, in that order.
func TestOrderOfNumbers(t *testing.T) {
	for document, want := range map[string][]int64{
		``:                                {2000},
		`{}`:                              {2000},
		`{"win":"3/3","fallback":"none"}`: {2000},
		`{"win":"2/4","fallback":"none"}`: {4, 2000},
		`{"fallback":"none","odds":{"of":77,"prizes":{"gold":1,"silver":1,"bronze":1}}}`:                                     {77},
		`{"fallback":"none","guarantee":{"after":0,"prize":"bronze"},"limits":[{"of":"wins","max":1}],"budget":{"max":"0"}}`: {2000},
		`{"limits":[{"of":"draws","max":1,"per":"day"}],"blocked":["v"]}`:                                                    {2000},
	} {
		c := &counting{}
		u := urn.NewUrnFrom("p", c)
		s := urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead(), Prizes: drawtest.Campaign()}
		if document != "" {
			s.Rules = drawtest.Rules(t, document)
		}
		u.Seen(s)
		a := asking("a", 1)
		blocked := of("v", asking("b", 100))
		p := u.PlanWith([]*urn.Ask{a}, nobody(u, a), noon())
		require.NoError(t, p.Err(0))
		require.Equal(t, want, c.limits, document)
		if s.Rules != nil && s.Rules.Blocked["v"] {
			p = u.PlanWith([]*urn.Ask{blocked, of("w", asking("c", 2))}, nobody(u, blocked, of("w", asking("c", 2))), noon())
			require.Error(t, p.Err(0))
			require.Error(t, p.Err(1))
			require.Equal(t, want, c.limits, "a refusal uses no number")
		}
	}
	c := &counting{}
	u := urn.NewUrnFrom("p", c)
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead(), Prizes: drawtest.Campaign()[4:], Rules: drawtest.Rules(t, `{"win":"1/2","fallback":"none"}`)})
	require.Equal(t, "none", u.Plan([]*urn.Ask{asking("a", 1)}, noon()).Awards[0].PrizeID)
	require.Equal(t, []int64{2}, c.limits, "an empty urn is asked for no unit")
}

// TestBudgetToTheCent: the issued value never exceeds the budget, and every prize that
// was withheld would have exceeded it. The test fails for sums in floating point, and for
// a budget per instance.
func TestBudgetToTheCent(t *testing.T) {
	const limit = 10_000
	var prizes []draw.Prize
	for i, value := range []int64{1, 7, 99, 250, 1010, 3333} {
		prizes = append(prizes, draw.Prize{ID: fmt.Sprint("p", i), Name: "P", Value: decimal.New(value, -2), Stocked: 1 << 40})
	}
	prizes = append(prizes, draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock})
	const document = `{"fallback":"none","budget":{"max":"100.00","per":"day"}}`
	run := func(urns ...*urn.Urn) (byDay map[time.Time]int64, err error) {
		byDay = map[time.Time]int64{}
		at := noon().Add(-20 * time.Hour)
		for i := range 2000 {
			u := urns[i%len(urns)]
			p := u.Plan([]*urn.Ask{asking(fmt.Sprint(i), 1+i%7)}, at)
			if i%5 == 0 { // a write that fails changes nothing
				p.Undo()
				p = u.Plan([]*urn.Ask{asking(fmt.Sprint(i), 1+i%7)}, at)
			}
			p.Settle()
			day := at.Truncate(24 * time.Hour)
			for _, a := range p.Awards {
				if r := a.Redirect; r != nil && byDay[day]+draw.Cents(prizes[r.Drawn[1]-'0'].Value) <= limit {
					return byDay, fmt.Errorf("%q was withheld at %d of %d", r.Drawn, byDay[day], limit)
				}
				byDay[day] += draw.Cents(a.Value)
			}
			if u.Plan(nil, at).Spending.Cents != p.Spending.Cents || byDay[day] > limit {
				return byDay, fmt.Errorf("spent %d of %d", byDay[day], limit)
			}
			at = at.Add(90 * time.Second)
		}
		return byDay, nil
	}
	byDay, err := run(under(t, document, prizes))
	require.NoError(t, err)
	require.Len(t, byDay, 3)
	for _, spent := range byDay {
		require.Greater(t, spent, int64(limit-3333))
	}
	_, err = run(under(t, document, prizes), under(t, document, prizes))
	require.Error(t, err, "a budget per instance")
	require.Positive(t, otherwiseInFloats([]int64{1, 7, 99, 250, 1010, 3333}, limit), "floats")
}

// otherwiseInFloats counts the values for which a budget that is summed in floats decides
// differently from a budget in whole cents. values are in cents.
func otherwiseInFloats(values []int64, limit int64) (wrong int) {
	numbers := keyed(3).Of(1)
	for range 5000 {
		spent, cents := 0.0, int64(0)
		for range 60 {
			value := values[numbers.Below(int64(len(values)))]
			float := float64(value) / 100
			granted, fits := spent+float <= float64(limit)/100, cents+value <= limit
			if granted {
				spent += float
			}
			if fits {
				cents += value
			}
			if granted != fits {
				wrong++
			}
		}
	}
	return wrong
}
