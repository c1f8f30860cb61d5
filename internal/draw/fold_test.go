package draw

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

// TestFoldCatches: an award that is changed after the fact, in each of the ways
// that have a rule.
func TestFoldCatches(t *testing.T) {
	prizes := []Prize{
		{ID: "gold", Name: "Gold", Value: decimal.New(500, -2), Stocked: 100}, {ID: "lost", Name: "Lost", Kind: KindBlank, Stocked: 100},
		{ID: "none", Name: "None", Kind: KindBlank, Stocked: EndlessStock}, {ID: "other", Name: "Other", Kind: KindBlank, Stocked: EndlessStock},
	}
	const limits = `{"fallback":"none","limits":[{"of":"draws","max":2,"per":"day"},{"of":"wins","max":1}]}`
	const owed = `{"fallback":"none","win":"1/2","guarantee":{"after":1,"prize":"gold"}}`
	award := func(id string, r *Redirect) Award { return Award{UserID: "u", PrizeID: id, Redirect: r} }
	limited := &Redirect{Drawn: "gold", Why: WhyLimit}
	for _, c := range []struct {
		rules, want string
		awards      []Award
	}{
		{limits, "", []Award{award("gold", nil), award("none", limited)}},
		{limits, "", []Award{award("gold", nil), award("lost", nil)}},
		{limits, RuleLimitPassed, []Award{award("gold", nil), award("gold", nil)}},
		{limits, RuleLimitPassed, []Award{award("lost", nil), award("lost", nil), award("lost", nil)}},
		{limits, RuleRedirectUnlawful, []Award{award("none", limited)}},
		{limits, RuleRedirectUnlawful, []Award{award("gold", nil), award("lost", limited)}},
		{limits, RuleRedirectUnlawful, []Award{award("gold", nil), award("none", &Redirect{Drawn: "gold", Why: WhyBudget})}},
		{limits, RuleOutsideUrn, []Award{award("none", nil)}},
		{limits, RuleOutsideUrn, []Award{award("other", nil)}},
		{limits, RuleOutsideUrn, []Award{award("absent", nil)}},
		{limits, RuleOutsideUrn, []Award{award("none", &Redirect{Drawn: "absent", Why: WhyLimit})}},
		{limits, RuleBlankValue, []Award{{UserID: "u", PrizeID: "lost", Value: decimal.New(1, -2)}}},
		{``, RuleOutsideUrn, []Award{award("none", nil)}},
		{``, RuleRedirectUnlawful, []Award{award("gold", limited)}},
		{owed, "", []Award{award("none", nil), award("gold", &Redirect{Why: WhyGuarantee}), award("lost", nil), award("gold", &Redirect{Drawn: "lost", Why: WhyGuarantee})}},
		{owed, RuleGuaranteeMissed, []Award{award("none", nil), award("none", nil)}},
		{owed, RuleGuaranteeMissed, []Award{award("lost", nil), award("lost", nil)}},
		{owed, RuleRedirectUnlawful, []Award{award("gold", &Redirect{Why: WhyGuarantee})}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":10}}}`, RuleOutsideUrn, []Award{award("none", nil)}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":9}}}`, RuleOutsideUrn, []Award{award("lost", nil)}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":9}}}`, "", []Award{award("none", nil), award("gold", nil)}},
	} {
		f := NewFold("p", prizes, nil)
		var got []Violation
		for i, p := range prizes {
			got = append(got, f.Add(Entry{Move: &Move{Version: int64(i + 1), PrizeID: p.ID, Delta: p.Stocked, Stocked: p.Stocked, At: noon()}})...)
		}
		if c.rules != "" {
			r := rulesOf(t, c.rules)
			f.expect(r)
			got = append(got, f.Add(Entry{Change: &Change{Version: 5, What: WhatRules, Body: RulesBody(r), At: noon()}})...)
		}
		for i := range c.awards {
			a := c.awards[i]
			a.Version, a.At = int64(6+i), noon()
			got = append(got, f.Add(Entry{Award: &a})...)
		}
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
			continue
		}
		require.Len(t, got, 1, "%+v", c)
		require.Equal(t, c.want, got[0].Rule, "%+v: %v", c, got)
		require.Contains(t, got[0].Detail, fmt.Sprintf("version %d: ", 5+len(c.awards)))
	}
	f := NewFold("p", prizes, nil)
	require.Equal(t, RuleRulesUnknown, f.Add(Entry{Change: &Change{Version: 1, What: WhatRules, Body: `{"rules":{"x":1}}`}})[0].Rule)
	require.Empty(t, f.Add(Entry{Change: &Change{Version: 2, What: WhatCreated, Body: `{"name":"P","state":"open"}`}}))
	require.Empty(t, f.Add(Entry{Change: &Change{Version: 3, What: WhatRules, Body: RulesBody(nil)}}))
}
