package http

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
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

func (g guaranteed) Present(ctx context.Context, poolID string, at time.Time, draft *draw.Rules, itemsMax int) (odds.Present, error) {
	p, err := g.Store.Present(ctx, poolID, at, draft, itemsMax)
	if err != nil {
		return p, err
	}
	if p.Pool, err = g.Pool(ctx, poolID); err != nil || draft != nil {
		return p, err
	}
	r, err := g.Rules(ctx, poolID, p.Pool.RulesVersion)
	p.Rules = r.Rules
	return p, err
}

// campaigned gives every pool rules that guarantee a prize.
func campaigned(c *Config) {
	c.Store = guaranteed{c.Store}
}

// TestSimulation: the answer is that of odds.Simulate, the same for the same seed.
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
	for query, code := range map[string]string{"?draws=0": "invalid-request", "?draws=1000001": "invalid-request", "?users=x": "invalid-request", "?users=300001": "invalid-request",
		"?to=2026-12-01": "invalid-request", "?from=x": "invalid-request", "?from=2026-12-01T00:00:00Z&to=2026-12-01T00:00:00Z": "invalid-request",
		"?from=2026-12-01T00:00:00Z&to=2027-12-03T00:00:00Z": "invalid-request", "?from=2026-12-01T00:00:00Z&to=2026-12-02T00:00:00Z&rate=50": "invalid-request"} {
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
}

// dated gives a pool a calendar. The pool opens on the first day, and gets one unit of
// gold on the third and two hidden moments on the fourth. If begun is set, a read of the
// pool closes begun, and then waits until its context ends.
type dated struct {
	Store
	begun chan struct{}
}

var firstDay = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func (d dated) Present(ctx context.Context, _ string, _ time.Time, _ *draw.Rules, itemsMax int) (p odds.Present, err error) {
	if d.begun != nil {
		close(d.begun)
		<-ctx.Done()
	}
	p.Pool.State = draw.StatePaused
	p.Pool.Prizes = []draw.Prize{{ID: "gold", Name: "Gold", Value: draw.Amount(1250)}, {ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}}
	if itemsMax > 0 {
		p.Items = []draw.Item{
			{Number: 1, At: firstDay.Add(12 * time.Hour), Kind: draw.ItemState, State: draw.StateOpen},
			{Number: 2, At: firstDay.AddDate(0, 0, 2), Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: 1, Reason: "day 3"}},
			{Number: 3, Kind: draw.ItemMoment, Hidden: &draw.Hidden{PrizeID: "gold", Count: 2, From: firstDay.AddDate(0, 0, 3), To: firstDay.AddDate(0, 0, 4), IsMoments: true}},
		}
	}
	p.Rules, err = rules.Parse([]byte(`{"fallback":"none"}`))
	return p, err
}

// TestSimulationOfACampaign: with from or to the run follows the agenda, and has a
// result for each day. A caller that may not see planned stock gets a run without it,
// and the number of items that are left out. No caller gets the times of hidden items.
func TestSimulationOfACampaign(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, ofEveryRole, func(c *Config) { c.Store = dated{Store: c.Store} })
	const target = "/admin/pools/p/simulation?draws=600&from=2026-12-01T00:00:00Z&to=2026-12-07T00:00:00Z"
	simulate := func(token, target string) (a api.Simulated) {
		w := do(s, request("GET", target, "", "Authorization", "Bearer "+token))
		require.Equal(t, 200, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
		return a
	}
	a := simulate(string(roleAdmin), target)
	require.Equal(t, "UTC", a.Zone)
	require.Len(t, a.Days, 6)
	require.Equal(t, api.SimulatedDay{Day: "2026-12-01", Draws: 50, Refused: 50, Value: "0.00"}, a.Days[0], "it opens at noon")
	require.Equal(t, api.SimulatedDay{Day: "2026-12-02", Draws: 100, Value: "0.00"}, a.Days[1])
	require.Equal(t, api.SimulatedDay{Day: "2026-12-03", Draws: 100, Wins: 1, Value: "12.50"}, a.Days[2])
	require.Equal(t, int64(2), a.Days[3].Wins+a.Days[4].Wins, "in their span, at an instant of the seed")
	require.Equal(t, map[draw.Code]int64{draw.CodePoolNotOpen: 50}, a.Refusals)
	require.Contains(t, []int{4, 5}, *a.Prizes[0].SoldOutDay)
	require.Contains(t, *a.Prizes[0].SoldOutAt, "2026-12-0")
	require.Zero(t, *a.Prizes[0].Remaining)
	require.Nil(t, a.Prizes[1].Remaining)
	require.Zero(t, a.Hidden)

	b := simulate(string(roleAuditor), target)
	require.Equal(t, 1, b.Hidden)
	require.Zero(t, b.Days[2].Wins, "an auditor does not learn when stock comes")
	require.Equal(t, int64(2), b.Prizes[0].Count)

	old := simulate(string(roleAdmin), "/admin/pools/p/simulation?draws=600")
	require.Equal(t, int64(600), old.Draws, "without from and to it has no agenda, and is open")
	require.Zero(t, old.Prizes[0].Count)
}

// TestOneSimulationRuns: a second simulation is refused. A run ends if its caller
// disconnects, or if a token of a higher rank wants its place.
func TestOneSimulationRuns(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(s *Server, leave func()){
		"the answer did not come in time": func(_ *Server, leave func()) { leave() },
		"a token of a higher rank": func(s *Server, _ func()) {
			if _, done, ok := s.bounds.Simulation.Take(context.Background(), gate.RankAdmin, errOutranked); ok {
				done()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			s := newServer(t, &fake{}, ofEveryRole, func(c *Config) { c.Store, c.RequestTimeout = dated{c.Store, begun}, time.Hour })
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r := request("GET", "/admin/pools/p/simulation?draws=1000000&from=2026-12-01T00:00:00Z&to=2026-12-25T00:00:00Z", "", "Authorization", "Bearer "+string(roleAuditor))
			answer := make(chan *httptest.ResponseRecorder, 1)
			go func() { answer <- do(s, r.WithContext(ctx)) }()
			<-begun
			second := do(s, request("GET", "/admin/pools/p/simulation", "", "Authorization", "Bearer "+string(roleAuditor)))
			require.Equal(t, "overloaded", problemIn(t, second.Result()).Code)
			require.Equal(t, "1", second.Header().Get("Retry-After"))
			stop(s, leave)
			first := <-answer
			require.Equal(t, 503, first.Code, "it ended before its last draw")
			require.Contains(t, problemIn(t, first.Result()).Detail, name)
			_, done, ok := s.bounds.Simulation.Take(t.Context(), gate.RankAuditor, errOutranked)
			require.True(t, ok, "its place is free")
			done()
		})
	}
}

// panicking panics while a simulation reads its pool, until isOver is set.
type panicking struct {
	Store
	isOver *atomic.Bool
}

func (p panicking) Present(ctx context.Context, poolID string, at time.Time, draft *draw.Rules, itemsMax int) (odds.Present, error) {
	if !p.isOver.Load() {
		panic("a defect")
	}
	return p.Store.Present(ctx, poolID, at, draft, itemsMax)
}

// TestPanicInASimulationFreesItsTurn: after a simulation that panicked, the next one runs.
func TestPanicInASimulationFreesItsTurn(t *testing.T) {
	t.Parallel()
	var isOver atomic.Bool
	s := newServer(t, &fake{}, campaigned, func(c *Config) { c.Store = panicking{c.Store, &isOver} })
	simulate := func() int { return do(s, asAdmin("GET", "/admin/pools/p/simulation", "")).Code }
	require.Equal(t, 500, simulate())
	isOver.Store(true)
	require.Equal(t, 200, simulate(), "its turn is free")
}

// Present returns the results of the fake store's Pool, Rules and Agenda.
func (f fakeStore) Present(ctx context.Context, poolID string, _ time.Time, draft *draw.Rules, itemsMax int) (p odds.Present, err error) {
	if p.Pool, err = f.Pool(ctx, poolID); err != nil {
		return p, err
	}
	if p.Rules = draft; draft == nil {
		p.Rules = f.rules
	}
	if itemsMax > 0 {
		p.Items, err = f.Agenda(ctx, poolID, 0, itemsMax, true)
	}
	return p, err
}
