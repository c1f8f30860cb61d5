package stocktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// testCached: a plan from a cached copy is written if the pool is at the same head, and
// rejected if anything on which the plan depends has changed.
func testCached(t *testing.T, s *stock.Store) {
	paused, mode := draw.StatePaused, "optimistic"
	changes := map[string]func(id string) error{
		"drawn": func(id string) error { return Write(t, s, stock.TxOptions{}, Plan(id, 2, "a", 0, "d1")) },
		"restocked": func(id string) error {
			_, err := s.Stock(t.Context(), draw.Stocking{PoolID: id, PrizeID: "a", Delta: 1, Reason: "x"}, "test")
			return err
		},
		"paused": func(id string) error {
			_, err := s.ChangePool(t.Context(), id, draw.PoolChange{State: &paused}, "test")
			return err
		},
		"moded": func(id string) error {
			_, err := s.ChangePool(t.Context(), id, draw.PoolChange{Mode: &mode}, "test")
			return err
		},
	}
	for way, o := range ways() {
		for what, change := range changes {
			id := way + "-" + what
			Pool(t, s, id, 10)
			urn := readUrn(t, s, id)
			require.NoError(t, change(id))
			class(t, stock.ClassConflict, s.Write(t.Context(), On(urn, Plan(id, 2, "a", 0, "late")), o))
			require.LessOrEqual(t, NoViolations(t, s, id).Version, int64(3), "nothing was written")
		}
		id := way + "-unchanged"
		Pool(t, s, id, 10)
		urn := readUrn(t, s, id)
		first := On(urn, Plan(id, 2, "a", 0, "d1"))
		require.NoError(t, s.Write(t.Context(), first, o))
		urn.Head = first.To // what a settled plan does
		require.NoError(t, s.Write(t.Context(), On(urn, Plan(id, 3, "a", 1, "d2", "d3")), o))
		require.Equal(t, int64(5), NoViolations(t, s, id).Version)
	}
}

// readUrn returns a cached copy of the pool.
func readUrn(tb testing.TB, s *stock.Store, poolID string) *urn.Urn {
	tb.Helper()
	urn := urn.NewUrn(poolID)
	tx, err := s.Read(tb.Context(), urn, stock.TxOptions{})
	require.NoError(tb, err)
	tx.Rollback()
	return urn
}

// testHits: after reads that find a pool unchanged, plans are made from its copy, until a
// read finds the pool changed.
func testHits(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 10)
	urn := urn.NewUrn("p")
	for i, want := range []bool{false, false, true, false, false, true} {
		if i == 3 {
			require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 2, "a", 0, "d1")))
		}
		tx, err := s.Read(t.Context(), urn, stock.TxOptions{Lock: true})
		require.NoError(t, err)
		tx.Rollback()
		require.Equal(t, want, urn.IsCached(), "read %d", i)
	}
	urn.Invalidate()
	require.False(t, urn.IsCached())
}

// writeOn is Write with an urn that was read before.
func writeOn(tb testing.TB, s *stock.Store, urn *urn.Urn, o stock.TxOptions, p *urn.Plan) error {
	tb.Helper()
	tx, err := s.Read(tb.Context(), urn, o)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return tx.Write(tb.Context(), On(urn, p))
}
