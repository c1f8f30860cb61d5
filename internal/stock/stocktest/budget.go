package stocktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// testBudgetPassed: the audit adds up the value of awards under budgets, and reports each
// award that exceeds the budget in force.
func testBudgetPassed(t *testing.T, s *stock.Store) {
	const fallback = `{"fallback":"none","budget":`
	campaign(t, s, "p", fallback+`{"max":"5.00","per":"day"}}`)
	urn := urn.NewUrn("p")
	next := 0
	draws := func(rules string, wins ...bool) {
		t.Helper()
		_, err := s.SetRules(t.Context(), "p", rulesOf(t, rules), nil, "anna")
		require.NoError(t, err)
		for _, want := range wins {
			next++
			d, err := drawOne(t, s, urn, stock.TxOptions{Lock: true}, "u", fmt.Sprint("d", next))
			require.NoError(t, err)
			require.Equal(t, want, d.Awards[0].Win(), rules)
		}
	}
	draws(fallback+`{"max":"5.00","per":"day"}}`, true, true, false)
	draws(fallback+`{"max":"7.50","per":"day"}}`, true, false)
	draws(`{"fallback":"none"}`, true)                            // no budget counts this award
	draws(fallback+`{"max":"10.00","per":"month"}}`, true, false) // the days before count too
	draws(fallback+`{"max":"2.50"}}`, false)                      // a budget for all time, lower than what was already spent
	draws(fallback+`{"max":"12.50","per":"month"}}`, true, false) // the spent amount is added up again
	require.NotContains(t, rulesBroken(t, s), "budget-passed")

	for name, planted := range map[string][]string{
		"a budget that was less":      {`UPDATE changes SET body = '{"rules":{"fallback":"none","budget":{"max":"4.99","per":"day"}}}' WHERE version = 4`},
		"a prize that was worth more": {`UPDATE prizes SET value = '2.51' WHERE id = 'gold'`},
		"a budget that was there": {
			`UPDATE changes SET body = '{"rules":{"fallback":"none","budget":{"max":"7.50","per":"day"}}}' WHERE body = '{"rules":{"fallback":"none"}}'`,
		},
		"another month":         {`UPDATE changes SET body = '{"rules":{"fallback":"none","budget":{"max":"9.99","per":"month"}}}' WHERE body LIKE '%"10.00"%'`},
		"a sum that is too old": {`UPDATE changes SET body = '{"rules":{"fallback":"none","budget":{"max":"12.49","per":"month"}}}' WHERE body LIKE '%"12.50"%'`},
	} {
		kept := Keep(t, s, "p")
		for _, statement := range planted {
			if s.Dialect() != "sqlite" {
				statement = strings.ReplaceAll(statement, "'2.51'", "2.51")
			}
			ExecAll(t, s, []string{statement})
		}
		require.Contains(t, rulesBroken(t, s), "budget-passed", name)
		kept.PutBack(t, s)
	}
	ExecAll(t, s, []string{`UPDATE prizes SET value = 1 WHERE id = 'none'`})
	require.Contains(t, rulesBroken(t, s), "blank-value")
	ExecAll(t, s, []string{`UPDATE prizes SET value = 0 WHERE id = 'none'`})
	require.Empty(t, rulesBroken(t, s))
}

// rulesBroken returns the rules that an audit without folding finds broken in the pool p.
func rulesBroken(t *testing.T, s *stock.Store) (rules []string) {
	t.Helper()
	audit, err := s.Audit(t.Context(), "p")
	require.NoError(t, err)
	for _, v := range audit.Violations {
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}
