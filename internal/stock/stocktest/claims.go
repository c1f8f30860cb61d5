package stocktest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// testClaimsOfBeacon: if a beacon binds the stock of a pool, the units of expired awards
// do not return. That holds whether the rules or the commitment came first.
func testClaimsOfBeacon(t *testing.T, s *stock.Store) {
	s.Unseal(Identities(t))
	const returning, keeping = `{"fallback":"none","claims":{"within":"1h"}}`, `{"fallback":"none","claims":{"within":"1h","return":false}}`
	campaign(t, s, "p", returning)
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	chain := NewChain(t)
	set := func(document string) error {
		_, err := s.SetRules(t.Context(), "p", rulesOf(t, document), nil, "test")
		return err
	}
	unchanged(t, s, func() {
		_, err := commitToBeacon(t, s, chain, "p", 2, 100, false)
		code(t, draw.CodeInvalidRequest, err)
	})
	require.NoError(t, set(keeping))
	CommitToBeacon(t, s, chain, "p", 2, 100, false)
	unchanged(t, s, func() {
		code(t, draw.CodeInvalidRequest, set(returning))
		code(t, draw.CodeInvalidRequest, set(`{"fallback":"none","claims":{"prizes":["gold"],"return":true}}`))
	})
	require.NoError(t, set(`{"fallback":"none"}`))
	require.NoError(t, set(keeping))

	campaign(t, s, "free", returning)
	_, err = ChangeState(t, s, "free", draw.StatePaused, nil)
	require.NoError(t, err)
	CommitToBeacon(t, s, chain, "free", 2, 100, true) // the stock of this pool moves while it is open
	campaign(t, s, "plain", returning)
	_, err = ChangeState(t, s, "plain", draw.StatePaused, nil)
	require.NoError(t, err)
	require.NoError(t, Commit(t, s, "plain", 2, 100), "a pool without a beacon")
}

// twin holds the parts of a pool that voids must not change: the standing of its users
// and of its budget.
type twin struct {
	users       []urn.Standing
	spent, left int64
}

func readTwin(t *testing.T, s *stock.Store, id string, users int) (w twin) {
	t.Helper()
	for i := range users {
		st, err := s.Standing(t.Context(), id, fmt.Sprint("u", i))
		require.NoError(t, err)
		for j := range st.Limits { // these times depend on when a unit was drawn
			st.Limits[j] = urn.LimitStanding{Limit: st.Limits[j].Limit, Used: st.Limits[j].Used, Left: st.Limits[j].Left}
		}
		w.users = append(w.users, st)
	}
	p, err := s.Pool(t.Context(), id)
	require.NoError(t, err)
	money, err := s.Money(t.Context(), &p)
	require.NoError(t, err)
	w.spent, w.left = money.Budget.Spent, money.Budget.Left
	return w
}

// testVoidsMoveStockOnly: after voids, with and without a return, the limits, the misses,
// the budget and the next draws are as in a second pool without voids.
func testVoidsMoveStockOnly(t *testing.T, s *stock.Store) {
	voids := 10
	if servertest.Every() {
		voids = 1000
	}
	users := voids + 2
	document := fmt.Sprintf(`{"fallback":"none","claims":{},"budget":{"max":"%d.00"},"guarantee":{"after":9,"prize":"gold"},`, 5*voids/2) +
		`"limits":[{"of":"draws","max":3},{"of":"prize","prize":"gold","max":1}]}`
	urns := map[string]*urn.Urn{}
	draws := func(id, round string) (all []string) {
		for i := range users {
			d, err := drawOne(t, s, urns[id], stock.TxOptions{Lock: true}, fmt.Sprint("u", i), fmt.Sprint(round, i))
			require.NoError(t, err)
			all = append(all, d.Awards[0].PrizeID)
		}
		return all
	}
	first := map[string][]string{}
	for _, id := range []string{"p", "twin"} {
		campaign(t, s, id, document)
		_, err := s.Stock(t.Context(), draw.Stocking{PoolID: id, PrizeID: "gold", Delta: int64(voids), Reason: "more"}, "test")
		require.NoError(t, err)
		urns[id] = urn.NewUrn(id)
		first[id] = draws(id, "a")
	}
	require.Equal(t, first["twin"], first["p"])
	for i := range voids {
		d, err := s.Draw(t.Context(), "p", fmt.Sprint("a", i))
		require.NoError(t, err)
		require.Equal(t, "gold", d.Awards[0].PrizeID)
		void := wantStep(d.Awards[0].Version, draw.StepVoided)
		void.Return = i%2 == 0
		_, _, err = s.Step(t.Context(), "p", void, "test")
		require.NoError(t, err)
	}
	same := func() bool {
		return reflect.DeepEqual(readTwin(t, s, "p", users), readTwin(t, s, "twin", users))
	}
	require.True(t, same())
	require.Equal(t, draws("twin", "b"), draws("p", "b"))
	require.True(t, same())
	audit, err := s.AuditDeep(t.Context(), "p")
	require.NoError(t, err)
	require.Empty(t, audit.Violations)
	for _, refund := range []string{
		`DELETE FROM turns WHERE pool_id = 'p' AND user_id = 'u0'`, `UPDATE pools SET spent = spent - 250 WHERE id = 'p'`,
	} {
		kept := Keep(t, s, "p")
		ExecAll(t, s, []string{refund})
		require.False(t, same(), refund)
		kept.PutBack(t, s)
	}
}
