package stocktest

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// rulesOf parses a document that a test contains.
func rulesOf(t *testing.T, document string) *draw.Rules {
	t.Helper()
	rules, err := rules.Parse([]byte(document))
	require.NoError(t, err)
	return rules
}

// campaign creates a pool with gold and an endless blank, and sets its rules.
func campaign(t *testing.T, s *stock.Store, id, rules string) draw.Pool {
	t.Helper()
	p, err := s.CreatePool(t.Context(), draw.Pool{ID: id, Name: id, Rules: rulesOf(t, rules), Prizes: []draw.Prize{
		{ID: "gold", Name: "Gold", Value: decimal.RequireFromString("2.50"), Stocked: 20},
		{ID: "none", Name: "No win", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	}}, "anna")
	require.NoError(t, err)
	return p
}

// drawOne draws for a user as a mode does: it reads the pool and the user's turns, plans,
// and writes.
func drawOne(t *testing.T, s *stock.Store, urn *urn.Urn, o stock.TxOptions, user, id string) (draw.Draw, error) {
	t.Helper()
	return drawAs(t, s, urn, o, draw.Request{PoolID: urn.PoolID, UserID: user, DrawID: id, Named: true, Count: 1})
}

// drawReceipted is drawOne with a receipt.
func drawReceipted(t *testing.T, s *stock.Store, urn *urn.Urn, user, id string) (draw.Draw, error) {
	t.Helper()
	return drawAs(t, s, urn, stock.TxOptions{}, draw.Request{PoolID: urn.PoolID, UserID: user, DrawID: id, Named: true, Count: 1, Receipt: true})
}

func drawAs(t *testing.T, s *stock.Store, u *urn.Urn, o stock.TxOptions, r draw.Request) (draw.Draw, error) {
	t.Helper()
	tx, err := s.Read(t.Context(), u, o)
	require.NoError(t, err)
	defer tx.Rollback()
	asks := []*urn.Ask{{Request: r}}
	var facts *urn.Facts
	if needs := u.Needs(asks); len(needs) > 0 {
		facts, err = tx.Turns(t.Context(), u, needs)
		require.NoError(t, err)
	}
	plan := u.PlanWith(asks, facts, s.Now())
	require.NoError(t, tx.Write(t.Context(), plan))
	plan.Settle()
	return plan.Answer(0)
}

// testRules: rules are changes of the pool. Setting the same rules again changes nothing,
// and a request that names other rules as the current ones is rejected.
func testRules(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	p := campaign(t, s, "p", `{"fallback":"none","win":"1/2"}`)
	require.Equal(t, int64(4), p.RulesVersion, "behind its own change and two moves")
	first, err := s.Rules(ctx, "p", 0)
	require.NoError(t, err)
	require.Equal(t, "anna", first.Actor)
	require.Equal(t, `{"win":"1/2","fallback":"none"}`, first.Rules.Document())

	again, err := s.SetRules(ctx, "p", rulesOf(t, `{"win":"1/2", "fallback":"none"}`), nil, "ben")
	require.NoError(t, err)
	require.Equal(t, first.Version, again.Version, "the same document")
	_, err = s.SetRules(ctx, "p", rulesOf(t, `{"fallback":"gold"}`), nil, "ben")
	code(t, draw.CodeInvalidRequest, err)
	_, err = s.SetRules(ctx, "p", nil, []int64{3}, "ben")
	code(t, draw.CodeRulesChanged, err)

	second, err := s.SetRules(ctx, "p", rulesOf(t, `{"fallback":"none"}`), []int64{first.Version}, "ben")
	require.NoError(t, err)
	require.Equal(t, first.Version+1, second.Version)
	any := []int64{draw.AnyRules}
	again, err = s.SetRules(ctx, "p", rulesOf(t, `{"fallback":"none"}`), any, "ben")
	require.NoError(t, err)
	require.Equal(t, second.Version, again.Version)
	removed, err := s.SetRules(ctx, "p", nil, nil, "cleo")
	require.NoError(t, err)
	require.Nil(t, removed.Rules)
	_, err = s.SetRules(ctx, "p", rulesOf(t, `{"fallback":"none"}`), any, "ben")
	code(t, draw.CodeRulesChanged, err)
	_, err = s.Rules(ctx, "p", 0)
	code(t, draw.CodeNotFound, err)
	old, err := s.Rules(ctx, "p", first.Version)
	require.NoError(t, err, "documents stay")
	require.Equal(t, first.Rules.SHA256(), old.Rules.SHA256())
	_, err = s.Rules(ctx, "p", 2)
	code(t, draw.CodeNotFound, err)
	_, err = s.SetRules(ctx, "absent", nil, nil, "ben")
	code(t, draw.CodePoolNotFound, err)
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "none", Delta: -1, Reason: "x"}, "ben")
	code(t, draw.CodeInvalidRequest, err)
	NoViolations(t, s, "p")
}

// testTurns: the turns that rules count are written with the award, and the next plan
// reads them. The audit reports a changed row.
func testTurns(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		id := "pool-" + name
		campaign(t, s, id, `{"fallback":"none","limits":[{"of":"draws","max":2},{"of":"prize","prize":"gold","max":1,"per":"day"}],`+
			`"guarantee":{"after":9,"prize":"gold"},"budget":{"max":"5.00"}}`)
		urn := urn.NewUrn(id)
		for i := range 3 {
			d, err := drawOne(t, s, urn, o, "u1", fmt.Sprint("d", i))
			if i == 2 {
				code(t, draw.CodeLimitReached, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, i == 0, d.Awards[0].Win(), "one gold a day")
		}
		_, err := drawOne(t, s, urn, o, "u2", "d3")
		require.NoError(t, err)
		d, err := drawOne(t, s, urn, o, "u3", "d4")
		require.NoError(t, err)
		require.Equal(t, &draw.Redirect{Drawn: "gold", Why: draw.WhyBudget}, d.Awards[0].Redirect, "two of 2.50 are spent")
		st, err := s.Standing(t.Context(), id, "u1")
		require.NoError(t, err)
		require.Zero(t, st.Limits[0].Left)
		_, err = s.Odds(t.Context(), id, "u1")
		code(t, draw.CodeLimitReached, err)
		audit, err := s.AuditDeep(t.Context(), id)
		require.NoError(t, err)
		require.Empty(t, audit.Violations)
	}
	for _, plant := range [][2]string{
		{"turn-gap", `UPDATE turns SET seq = 7 WHERE user_id = 'u1' AND what = 'draw' AND seq = 2`},
		{"turn-gap", `UPDATE turns SET version = version - 1 WHERE user_id = 'u1' AND what = 'draw' AND seq = 2`}, // two turns of the same award
		{"turn-missing", `DELETE FROM turns WHERE user_id = 'u1' AND what = 'draw' AND seq = 2`},
		{"turn-stray", `UPDATE turns SET version = 1 WHERE user_id = 'u2' AND what = 'draw'`},
		{"turn-stray", `UPDATE turns SET run = 1 WHERE user_id = 'u1' AND what = 'draw' AND seq = 2`},
		{"turn-stray", `UPDATE turns SET run = 2 WHERE user_id = 'u1' AND what = 'miss' AND seq = 2`},
		{"turn-stray", `UPDATE turns SET run = 1 WHERE user_id = 'u1' AND what = 'miss' AND seq = 1`}, // this award was a win
		{"state-is-changes", `UPDATE pools SET state = 'paused' WHERE id = 'pool-locked'`},
		{"rules-unknown", `UPDATE pools SET rules = 0 WHERE id = 'pool-locked'`},
		{"rules-unknown", `UPDATE pools SET rules = rules + 1 WHERE id = 'pool-locked'`},
		{"spent-is-awards", `UPDATE pools SET spent = spent + 1 WHERE id = 'pool-locked'`},
		{"outside-urn", `DELETE FROM redirects`},
	} {
		rule, statement := plant[0], plant[1]
		kept := Keep(t, s, "pool-locked")
		_, err := s.LockDB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
		audit, err := s.AuditDeep(t.Context(), "pool-locked")
		require.NoError(t, err)
		require.NotEmpty(t, audit.Violations, rule)
		require.Equal(t, rule, audit.Violations[0].Rule)
		kept.PutBack(t, s)
	}
}

// testTurnTaken: a plan that has not read a user's last turn would write that turn again,
// and the schema refuses it.
func testTurnTaken(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		id := "pool-" + name
		campaign(t, s, id, `{"fallback":"none","limits":[{"of":"draws","max":2}]}`)
		u := urn.NewUrn(id)
		_, err := drawOne(t, s, u, o, "u1", "d0")
		require.NoError(t, err)
		tx, err := s.Read(t.Context(), u, o)
		require.NoError(t, err)
		asks := []*urn.Ask{{Request: draw.Request{PoolID: id, UserID: "u1", DrawID: "d1", Named: true, Count: 1}}}
		err = tx.Write(t.Context(), u.PlanWith(asks, urn.NewFacts(u.Needs(asks)), s.Now()))
		tx.Rollback()
		class(t, stock.ClassConflict, err)
		require.Equal(t, "turn", err.Error(), "the user is not for the log")
		NoViolations(t, s, id)
	}
}

// testSpent: under new rules with the same windows the spent amount continues to count.
// For other windows it is added up again.
func testSpent(t *testing.T, s *stock.Store) {
	campaign(t, s, "p", `{"fallback":"none","budget":{"max":"5.00"}}`)
	urn := urn.NewUrn("p")
	next := 0
	wins := func(want bool) {
		t.Helper()
		next++
		d, err := drawOne(t, s, urn, stock.TxOptions{Lock: true}, "u", fmt.Sprint("d", next))
		require.NoError(t, err)
		require.Equal(t, want, d.Awards[0].Win())
	}
	for _, step := range []struct {
		rules string
		wins  []bool
	}{
		{`{"fallback":"none","budget":{"max":"5.00"}}`, []bool{true, true, false}},
		{`{"fallback":"none","budget":{"max":"7.50"}}`, []bool{true, false}},
		{`{"fallback":"none"}`, []bool{true}},
		{`{"fallback":"none","budget":{"max":"10.00","per":"day"}}`, []bool{true, false}},
	} {
		_, err := s.SetRules(t.Context(), "p", rulesOf(t, step.rules), nil, "anna")
		require.NoError(t, err)
		for _, want := range step.wins {
			wins(want)
		}
	}
	audit, err := s.AuditDeep(t.Context(), "p")
	require.NoError(t, err)
	require.Empty(t, audit.Violations)
}
