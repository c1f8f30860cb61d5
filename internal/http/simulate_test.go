package http

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/http/gate"
)

// guaranteed is a pool with rules that guarantee a prize.
type guaranteed struct{ Store }

func (g guaranteed) Pool(ctx context.Context, poolID string) (draw.Pool, error) {
	p, err := g.Store.Pool(ctx, poolID)
	p.RulesVersion = 9
	p.Prizes[1].Stocked = 1_000_000
	p.Prizes = append(p.Prizes, draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock})
	return p, err
}

func (g guaranteed) Rules(ctx context.Context, poolID string, version int64) (draw.Ruling, error) {
	r, err := g.Store.Rules(ctx, poolID, version)
	if err == nil {
		r.Rules, err = rules.Parse([]byte(`{"fallback":"none","win":"1/4","disclose":true,"guarantee":{"after":3,"prize":"pin"}}`))
	}
	return r, err
}

// campaigned gives every pool rules that guarantee a prize.
func campaigned(c *Config) {
	c.Store = guaranteed{c.Store}
}

// TestSimulation: the answer is that of odds.Simulate, the same for the same seed. Two
// simulations do not run at once.
func TestSimulation(t *testing.T) {
	s := newServer(t, &fake{}, campaigned)
	ask := func(query string) string {
		w := do(s, asAdmin("GET", "/admin/pools/p/simulation"+query, ""))
		require.Equal(t, 200, w.Code, w.Body)
		return w.Body.String()
	}
	var a api.Simulated
	require.NoError(t, json.Unmarshal([]byte(ask("?draws=5000&users=10")), &a))
	require.EqualValues(t, 5000, a.Draws)
	require.Len(t, a.Prizes, 3)
	require.False(t, a.Unlikely)
	require.LessOrEqual(t, a.Prizes[0].Count, int64(7), "all that remain of gold")
	for query, code := range map[string]string{"?draws=0": "invalid-request", "?draws=100001": "invalid-request", "?users=x": "invalid-request"} {
		require.Equal(t, code, problemIn(t, do(s, asAdmin("GET", "/admin/pools/p/simulation"+query, "")).Result()).Code, query)
	}
	draft := func(rules string) *httptest.ResponseRecorder {
		return do(s, asAdmin("POST", "/admin/pools/p/simulation?draws=5000&users=10", rules))
	}
	require.Equal(t, ask("?draws=5000&users=10"), draft(`{"fallback":"none","win":"1/4","guarantee":{"after":3,"prize":"pin"}}`).Body.String(), "those in force, as a draft")
	require.NotEqual(t, ask("?draws=5000&users=10"), draft(`{"fallback":"none","win":"1/2"}`).Body.String())
	for rules, detail := range map[string]string{`{"win":"2/1"}`: "win", `{"fallback":"none","limits":[{"of":"prize","prize":"absent","max":1}]}`: "absent"} {
		p := problemIn(t, draft(rules).Result())
		require.Equal(t, "invalid-request", p.Code)
		require.Contains(t, p.Detail, detail, "it names the member")
	}
	done, ok := s.bounds.Simulations.Try(gate.RankAdmin, 3)
	require.True(t, ok)
	defer done()
	require.Equal(t, "overloaded", problemIn(t, do(s, asAdmin("GET", "/admin/pools/p/simulation", "")).Result()).Code)
}
