package stocktest

import (
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// sharedPools creates the pools of testShared. The log of each has one award, with the
// key "d1".
func sharedPools(t *testing.T, s *stock.Store, name string) (ids []string, all []stock.SharedPool) {
	for _, what := range []string{"good", "known", "behind", "turned", "restocked", "also-good"} {
		id := name + "-" + what
		Pool(t, s, id, 10, 10)
		require.NoError(t, Write(t, s, stock.TxOptions{}, Plan(id, 3, "a", 0, "d1")))
		urn := urn.NewUrn(id)
		tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
		require.NoError(t, err)
		tx.Rollback()
		ids = append(ids, id)
		all = append(all, stock.SharedPool{Urn: urn, Keys: []string{"k"}})
	}
	return ids, all
}

func readShared(t *testing.T, s *stock.Store, all []stock.SharedPool, o stock.TxOptions) (stock.SharedTx, []bool) {
	t.Helper()
	shared, ready, err := s.ReadShared(t.Context(), all, o)
	require.NoError(t, err)
	t.Cleanup(shared.Rollback) // Close waits for it
	return shared, ready
}

// planned changes plans as if each was made from the urn of its pool: see [On].
func planned(all []stock.SharedPool, plans ...*urn.Plan) []*urn.Plan {
	for _, p := range plans {
		for _, j := range all {
			if j.Urn.PoolID == p.PoolID {
				On(j.Urn, p)
			}
		}
	}
	return plans
}

// testShared: the batches of several pools in one transaction are each written from the
// version of their plan, or not at all.
func testShared(t *testing.T, s *stock.Store) {
	if !s.CanShare() {
		require.NotEqual(t, goose.DialectPostgres, s.Engine().Migrations, "only the engine of PostgreSQL has something to gain by it")
		return
	}
	for name, o := range map[string]stock.TxOptions{"locked": {Lock: true}, "unlocked": {}} {
		ids, all := sharedPools(t, s, name)
		all[1].Keys = []string{"k", "d1"}
		_, err := s.Stock(t.Context(), draw.Stocking{PoolID: ids[4], PrizeID: "b", Delta: 5, Reason: "more"}, "test")
		require.NoError(t, err)
		all = append(all, stock.SharedPool{Urn: urn.NewUrn(name + "-absent")})
		shared, ready := readShared(t, s, all, o)
		require.Equal(t, []bool{true, true, true, true, true, true, false}, ready)
		require.Equal(t, []int64{4, 19}, []int64{all[0].Urn.Version, all[0].Urn.Remaining()})
		require.Equal(t, []int64{5, 24}, []int64{all[4].Urn.Version, all[4].Urn.Remaining()}, "what was changed is read again")

		tens := Plan(ids[5], 4, "a", 1, "d2", "d3", "d4")
		applied, err := shared.Write(t.Context(), planned(all,
			Plan(ids[0], 4, "a", 1, "d2"), Plan(ids[1], 4, "a", 1, "d2", "d1"),
			Plan(ids[2], 3, "a", 1, "d2"), Plan(ids[4], 5, "b", 0, "d2"), tens,
		))
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, false, true, true}, applied, "not with a known key, nor from another version")
		for i, want := range []int64{5, 4, 4, 4, 6, 7} {
			require.Equal(t, want, NoViolations(t, s, ids[i]).Version, ids[i])
		}
	}
}

// testSharedCached: pools that were not read are written if they are at the heads of
// their cached copies, in one transaction with pools that were read.
func testSharedCached(t *testing.T, s *stock.Store) {
	if !s.CanShare() {
		return
	}
	for name, o := range map[string]stock.TxOptions{"locked": {Lock: true}, "unlocked": {}} {
		ids, all := sharedPools(t, s, name)
		for i := range all {
			all[i].Cached = name == "locked" || i != 5
		}
		all[1].Keys = []string{"d1"}
		require.NoError(t, Write(t, s, stock.TxOptions{}, Plan(ids[2], 4, "a", 1, "d2")))
		paused, mode := draw.StatePaused, "optimistic"
		_, err := s.ChangePool(t.Context(), ids[3], draw.PoolChange{State: &paused}, "test")
		require.NoError(t, err)
		_, err = s.ChangePool(t.Context(), ids[4], draw.PoolChange{Mode: &mode}, "test")
		require.NoError(t, err)

		shared, ready := readShared(t, s, all, o)
		require.NotContains(t, ready, false)
		var plans []*urn.Plan
		for _, id := range ids {
			plans = append(plans, Plan(id, 4, "a", 1, "late"))
		}
		applied, err := shared.Write(t.Context(), planned(all, plans...))
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, false, false, false, true}, applied)
		for i, want := range []int64{5, 4, 5, 5, 5, 5} {
			require.Equal(t, want, NoViolations(t, s, ids[i]).Version, ids[i])
		}
	}
}

// testSharedWaits: a shared transaction does not wait for rows, and all of it is rolled
// back if it violates a rule of the schema.
func testSharedWaits(t *testing.T, s *stock.Store) {
	if !s.CanShare() {
		return
	}
	ids, all := sharedPools(t, s, "waits")
	other, err := s.Read(t.Context(), urn.NewUrn(ids[0]), stock.TxOptions{Lock: true})
	require.NoError(t, err)
	defer other.Rollback()
	shared, ready := readShared(t, s, all, stock.TxOptions{Lock: true})
	require.Equal(t, []bool{false, true, true, true, true, true}, ready)
	shared.Rollback()

	shared, ready = readShared(t, s, all, stock.TxOptions{})
	require.NotContains(t, ready, false, "reading alone needs no lock")
	applied, err := shared.Write(t.Context(), planned(all, Plan(ids[0], 4, "a", 1, "d2"), Plan(ids[1], 4, "a", 1, "d2")))
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, applied, "the row that is held was left out")

	for name, bad := range map[string]*urn.Plan{
		"no such prize": Plan(ids[2], 4, "nothing", 0, "d2"), "more than stocked": Plan(ids[2], 4, "b", 0, many(11)...),
	} {
		shared, _ = readShared(t, s, all, stock.TxOptions{Lock: true})
		_, err = shared.Write(t.Context(), planned(all, Plan(ids[3], 4, "a", 1, "d2"), bad))
		class(t, stock.ClassOther, err)
		shared.Rollback()
		require.Equal(t, int64(4), NoViolations(t, s, ids[3]).Version, name)
	}
	shared, _ = readShared(t, s, all, stock.TxOptions{Lock: true})
	_, err = shared.Write(t.Context(), planned(all, Plan(ids[3], 4, "a", 1, "d2"), Plan(ids[2], 4, "a", 1, "d1")))
	class(t, stock.ClassKnownKey, err)
	shared.Rollback()
	require.Equal(t, int64(4), NoViolations(t, s, ids[3]).Version)
}

// many returns n names of draws.
func many(n int) (ids []string) {
	for i := range n {
		ids = append(ids, string(rune('A'+i)))
	}
	return ids
}
