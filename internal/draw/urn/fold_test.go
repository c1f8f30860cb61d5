package urn_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/fold"
)

// TestFoldCatches: for each rule of a fold, an award is changed so that it breaks the
// rule, and the fold finds it.
func TestFoldCatches(t *testing.T) {
	prizes := []draw.Prize{
		{ID: "gold", Name: "Gold", Value: decimal.New(500, -2), Stocked: 100}, {ID: "lost", Name: "Lost", Kind: draw.KindBlank, Stocked: 100},
		{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}, {ID: "other", Name: "Other", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	}
	const limits = `{"fallback":"none","limits":[{"of":"draws","max":2,"per":"day"},{"of":"wins","max":1}]}`
	const owed = `{"fallback":"none","win":"1/2","guarantee":{"after":1,"prize":"gold"}}`
	award := func(id string, r *draw.Redirect) draw.Award { return draw.Award{UserID: "u", PrizeID: id, Redirect: r} }
	limited := &draw.Redirect{Drawn: "gold", Why: draw.WhyLimit}
	for _, c := range []struct {
		rules, want string
		awards      []draw.Award
	}{
		{limits, "", []draw.Award{award("gold", nil), award("none", limited)}},
		{limits, "", []draw.Award{award("gold", nil), award("lost", nil)}},
		{limits, fold.RuleLimitPassed, []draw.Award{award("gold", nil), award("gold", nil)}},
		{limits, fold.RuleLimitPassed, []draw.Award{award("lost", nil), award("lost", nil), award("lost", nil)}},
		{limits, fold.RuleRedirectUnlawful, []draw.Award{award("none", limited)}},
		{limits, fold.RuleRedirectUnlawful, []draw.Award{award("gold", nil), award("lost", limited)}},
		{limits, fold.RuleRedirectUnlawful, []draw.Award{award("gold", nil), award("none", &draw.Redirect{Drawn: "gold", Why: draw.WhyBudget})}},
		{limits, fold.RuleOutsideUrn, []draw.Award{award("none", nil)}},
		{limits, fold.RuleOutsideUrn, []draw.Award{award("other", nil)}},
		{limits, fold.RuleOutsideUrn, []draw.Award{award("absent", nil)}},
		{limits, fold.RuleOutsideUrn, []draw.Award{award("none", &draw.Redirect{Drawn: "absent", Why: draw.WhyLimit})}},
		{limits, fold.RuleBlankValue, []draw.Award{{UserID: "u", PrizeID: "lost", Value: decimal.New(1, -2)}}},
		{``, fold.RuleOutsideUrn, []draw.Award{award("none", nil)}},
		{``, fold.RuleRedirectUnlawful, []draw.Award{award("gold", limited)}},
		{owed, "", []draw.Award{award("none", nil), award("gold", &draw.Redirect{Why: draw.WhyGuarantee}), award("lost", nil), award("gold", &draw.Redirect{Drawn: "lost", Why: draw.WhyGuarantee})}},
		{owed, fold.RuleGuaranteeMissed, []draw.Award{award("none", nil), award("none", nil)}},
		{owed, fold.RuleGuaranteeMissed, []draw.Award{award("lost", nil), award("lost", nil)}},
		{owed, fold.RuleRedirectUnlawful, []draw.Award{award("gold", &draw.Redirect{Why: draw.WhyGuarantee})}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":10}}}`, fold.RuleOutsideUrn, []draw.Award{award("none", nil)}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":9}}}`, fold.RuleOutsideUrn, []draw.Award{award("lost", nil)}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":9}}}`, "", []draw.Award{award("none", nil), award("gold", nil)}},
	} {
		var documents []*draw.Rules
		if c.rules != "" {
			documents = append(documents, drawtest.Rules(t, c.rules))
		}
		f := fold.New("p", prizes, documents)
		var got []draw.Violation
		for i, p := range prizes {
			got = append(got, f.Add(draw.Entry{Move: &draw.Move{Version: int64(i + 1), PrizeID: p.ID, Delta: p.Stocked, Stocked: p.Stocked, At: noon()}})...)
		}
		for _, r := range documents {
			got = append(got, f.Add(draw.Entry{Change: &draw.Change{Version: 5, What: draw.WhatRules, Body: draw.RulesBody(r), At: noon()}})...)
		}
		for i := range c.awards {
			a := c.awards[i]
			a.Version, a.At = int64(6+i), noon()
			got = append(got, f.Add(draw.Entry{Award: &a})...)
		}
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
			continue
		}
		require.Len(t, got, 1, "%+v", c)
		require.Equal(t, c.want, got[0].Rule, "%+v: %v", c, got)
		require.Contains(t, got[0].Detail, fmt.Sprintf("version %d: ", 5+len(c.awards)))
	}
	f := fold.New("p", prizes, nil)
	require.Equal(t, fold.RuleRulesUnknown, f.Add(draw.Entry{Change: &draw.Change{Version: 1, What: draw.WhatRules, Body: `{"rules":{"x":1}}`}})[0].Rule)
	require.Empty(t, f.Add(draw.Entry{Change: &draw.Change{Version: 2, What: draw.WhatCreated, Body: `{"name":"P","state":"open"}`}}))
	require.Empty(t, f.Add(draw.Entry{Change: &draw.Change{Version: 3, What: draw.WhatRules, Body: draw.RulesBody(nil)}}))
}

// TestFoldKeepsWhatLimitsCount: a fold keeps at most as many turns of a user as a limit
// may count, however long the log is.
func TestFoldKeepsWhatLimitsCount(t *testing.T) {
	const awards = 200_000
	r := drawtest.Rules(t, `{"limits":[{"of":"draws","max":1,"per":"1s"}]}`)
	f := fold.New("p", []draw.Prize{{ID: "gold", Name: "Gold", Stocked: awards}}, []*draw.Rules{r})
	require.Empty(t, f.Add(draw.Entry{Move: &draw.Move{Version: 1, PrizeID: "gold", Delta: awards, Stocked: awards, At: noon()}}))
	require.Empty(t, f.Add(draw.Entry{Change: &draw.Change{Version: 2, What: draw.WhatRules, Body: draw.RulesBody(r), At: noon()}}))
	before := heap()
	for i := range awards {
		at := noon().Add(2 * time.Second * time.Duration(i))
		require.Empty(t, f.Add(draw.Entry{Award: &draw.Award{Version: int64(3 + i), UserID: "u", PrizeID: "gold", At: at}}))
	}
	after := heap()
	require.Less(t, after, before+1<<20, "a turn takes 32 bytes, all would take 6 MB")
	for turn := range f.LastTurns() {
		require.Equal(t, int64(awards), turn.Seq)
	}
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
