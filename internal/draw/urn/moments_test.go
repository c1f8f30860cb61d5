package urn

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// withMoments returns an open urn with gold, silver and the fallback none. The moments
// are pending in the given order.
func withMoments(t *testing.T, document string, gold, silver int64, moments ...string) *Urn {
	t.Helper()
	var r *draw.Rules
	if document != "" {
		var err error
		r, err = rules.Parse([]byte(document))
		require.NoError(t, err)
	}
	u := NewUrn("p")
	s := Snapshot{
		State: draw.StateOpen, Head: draw.NewHead(), Rules: r, HasReadMoments: true,
		Prizes: []draw.Prize{
			{ID: "gold", Name: "Gold", Stocked: gold, Value: decimal.NewFromInt(5)}, {ID: "silver", Name: "Silver", Stocked: silver},
			{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
		},
	}
	for i, prize := range moments {
		s.Moments = append(s.Moments, Moment{Item: int64(i + 1), Done: int64(i + 1), PrizeID: prize})
	}
	s.Head.Version = 100
	require.True(t, u.Seen(s))
	return u
}

func asksOf(users ...string) (asks []*Ask) {
	for i, user := range users {
		asks = append(asks, &Ask{Request: draw.Request{PoolID: "p", UserID: user, DrawID: fmt.Sprint("d", i), Count: 1}})
	}
	return asks
}

// planMoments plans draws of users, and returns their awards and the moments that they
// took.
func planMoments(t *testing.T, u *Urn, users ...string) (p *Plan, got []string) {
	t.Helper()
	asks := asksOf(users...)
	p = u.PlanWith(asks, NewFacts(u.Needs(asks)), time.Now())
	for i := range asks {
		if err := p.Err(i); err != nil {
			got = append(got, string(draw.CodeOf(err)))
			continue
		}
		a := p.Taken(i)[0]
		text := a.PrizeID
		if a.Redirect != nil {
			text += " " + string(a.Redirect.Why)
		}
		got = append(got, text)
	}
	return p, got
}

// TestMomentsAreTakenInOrder: the first draws of a batch get the moments, whatever the
// chance to win and the fixed odds are. A plan that is undone takes no moment.
func TestMomentsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	for _, document := range []string{`{"fallback":"none","win":"1/1000000000"}`, `{"fallback":"none","odds":{"of":1000,"prizes":{"gold":0,"silver":0}}}`} {
		u := withMoments(t, document, 5, 5, "gold", "silver", "gold")
		users := make([]string, 512)
		for i := range users {
			users[i] = fmt.Sprint("u", i)
		}
		want := []string{"gold moment", "silver moment", "gold moment", "none"}
		for range 2 {
			p, got := planMoments(t, u, users...)
			require.Equal(t, want, got[:4])
			require.Equal(t, []Taking{{1, 101}, {2, 102}, {3, 103}}, p.Takes)
			require.False(t, p.IsPlain())
			p.Undo()
			p.Undo()
		}
		p, _ := planMoments(t, u, "u1", "u2")
		p.Settle()
		require.True(t, u.HasMoments())
		_, got := planMoments(t, u, "u3", "u4")
		require.Equal(t, []string{"gold moment", "none"}, got)
	}
	p, got := planMoments(t, withMoments(t, "", 1, 0, "gold"), "u1", "u2")
	require.Equal(t, []string{"gold moment", "sold-out"}, got, "without rules; the urn gave the same unit")
	require.Equal(t, "gold", p.Awards[0].Redirect.Drawn)
}

// TestMomentsAreWithheld: a moment waits while a limit, the budget or the stock
// withholds its prize. Then the moment of the next prize is checked, and the guarantee
// comes after it.
func TestMomentsAreWithheld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document     string
		gold, silver int64
		moments      []string
		want         []string
	}{
		"limit":     {`{"fallback":"none","win":"1/1000000000","limits":[{"of":"prize","prize":"gold","max":1}]}`, 5, 5, []string{"gold", "gold", "silver"}, []string{"gold moment", "silver moment", "none"}},
		"budget":    {`{"fallback":"none","win":"1/1000000000","budget":{"max":"9.00"}}`, 5, 5, []string{"gold", "gold", "silver"}, []string{"gold moment", "silver moment", "none"}},
		"no stock":  {`{"fallback":"none","win":"1/1000000000"}`, 1, 5, []string{"gold", "gold", "silver"}, []string{"gold moment", "silver moment", "none"}},
		"guarantee": {`{"fallback":"none","win":"1/1000000000","guarantee":{"after":0,"prize":"silver"}}`, 5, 5, []string{"gold"}, []string{"gold moment", "silver guarantee", "silver guarantee"}},
	} {
		_, got := planMoments(t, withMoments(t, c.document, c.gold, c.silver, c.moments...), "u", "u", "u")
		require.Equal(t, c.want, got, name)
	}
}

// TestRefusedDrawsTakeNoMoment: the draw after a refused one takes the first moment.
func TestRefusedDrawsTakeNoMoment(t *testing.T) {
	t.Parallel()
	u := withMoments(t, `{"fallback":"none","win":"1/1000000000","blocked":["evil"],"limits":[{"of":"draws","max":1}]}`, 5, 5, "gold", "silver")
	p, got := planMoments(t, u, "evil", "anna", "anna", "ben", "cleo")
	require.Equal(t, []string{"user-blocked", "gold moment", "limit-reached", "silver moment", "none"}, got)
	require.Equal(t, []Taking{{1, 101}, {2, 102}}, p.Takes)
}

// TestJudgeOfMoments: a verdict names the moment that an award should have taken and did
// not take. It names none for an award that was redirected although no moment was
// pending.
func TestJudgeOfMoments(t *testing.T) {
	t.Parallel()
	award := func(version int64, prize, drawn string, why draw.Why) *draw.Award {
		a := &draw.Award{Version: version, DrawID: "d", Ordinal: 1, UserID: "u", PrizeID: prize, At: time.Now()}
		if why != "" {
			a.Redirect = &draw.Redirect{Drawn: drawn, Why: why}
		}
		return a
	}
	run := NewRun(withMoments(t, `{"fallback":"none","win":"1/2"}`, 5, 5, "gold"), nil)
	v, err := run.Judge(award(101, "silver", "", ""))
	require.NoError(t, err)
	require.Equal(t, draw.WhyMoment, v.Why)
	require.Equal(t, "gold", v.PrizeID)
	v, err = run.Judge(award(102, "gold", "", draw.WhyMoment))
	require.NoError(t, err)
	require.Equal(t, int64(1), v.Moment)
	v, err = run.Judge(award(103, "gold", "", draw.WhyMoment))
	require.NoError(t, err)
	require.Zero(t, v.Moment)
	require.Equal(t, draw.Why(""), v.Why)
}
