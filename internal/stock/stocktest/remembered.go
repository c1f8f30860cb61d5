package stocktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testRemembered: a plan that was made without a look at the pool is written
// when the pool is as it was remembered, and refused when anything about it
// that a plan depends on has changed.
func testRemembered(t *testing.T, s *stock.Store) {
	paused, mode := draw.StatePaused, "optimistic"
	changes := map[string]func(id string) error{
		"drawn": func(id string) error { return Apply(t, s, stock.TxOptions{}, Plan(id, 1, "a", 0, "d1")) },
		"restocked": func(id string) error {
			_, err := s.Stock(t.Context(), draw.Stocking{PoolID: id, PrizeID: "a", Delta: 1, Reason: "x"})
			return err
		},
		"paused": func(id string) error {
			_, err := s.ChangePool(t.Context(), id, draw.PoolChange{State: &paused})
			return err
		},
		"moded": func(id string) error {
			_, err := s.ChangePool(t.Context(), id, draw.PoolChange{Mode: &mode})
			return err
		},
	}
	for way, o := range ways() {
		for what, change := range changes {
			id := way + "-" + what
			Pool(t, s, id, 10)
			urn := draw.NewUrn(id)
			tx, err := s.Begin(t.Context(), urn, o)
			require.NoError(t, err)
			tx.Rollback()
			require.NoError(t, change(id))
			remembered := o
			remembered.Remembered = true
			class(t, stock.ClassConflict, applyTo(t, s, urn, remembered, Plan(id, 1, "a", 0, "late")))
			require.LessOrEqual(t, NoViolations(t, s, id).Version, int64(2), "nothing was written")
		}
		id := way + "-unchanged"
		Pool(t, s, id, 10)
		urn := draw.NewUrn(id)
		require.NoError(t, applyTo(t, s, urn, o, Plan(id, 1, "a", 0, "d1")))
		urn.Version = 2 // as a settled plan leaves it
		o.Remembered = true
		require.NoError(t, applyTo(t, s, urn, o, Plan(id, 2, "a", 1, "d2", "d3")))
		require.Equal(t, int64(4), NoViolations(t, s, id).Version)
	}
}

// testConfirmed: reads that find the pool as it was are counted, and one that
// does not begins the count anew.
func testConfirmed(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 10)
	urn := draw.NewUrn("p")
	for i, want := range []int{0, 1, 2, 0, 1} {
		if i == 3 {
			require.NoError(t, Apply(t, s, stock.TxOptions{}, Plan("p", 1, "a", 0, "d1")))
		}
		tx, err := s.Begin(t.Context(), urn, stock.TxOptions{Lock: true})
		require.NoError(t, err)
		tx.Rollback()
		require.Equal(t, want, urn.Confirmed, "read %d", i)
	}
	urn.Reset()
	require.Zero(t, urn.Confirmed)
}

// applyTo is Apply for an urn that was read before.
func applyTo(tb testing.TB, s *stock.Store, urn *draw.Urn, o stock.TxOptions, p *draw.Plan) error {
	tb.Helper()
	tx, err := s.Begin(tb.Context(), urn, o)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return tx.Apply(tb.Context(), p)
}
