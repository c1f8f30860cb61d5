package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// TestFill: a pool that is filled by SQL keeps every rule of the audit, so that
// what is measured on it is what would be measured on one that was drawn from.
func TestFill(t *testing.T) {
	for name, c := range map[string]candidate{
		"prizes": candidate{}.withPrizes(500),
		"awards": candidate{}.withAwards(awardsAtOnce + 1000),
	} {
		t.Run(name, func(t *testing.T) {
			url := servertest.Postgres(t)
			store, err := stock.Open(t.Context(), url, stock.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			require.NoError(t, store.Migrate(t.Context()))
			pool := draw.Pool{ID: poolOf(c), Name: "Bench"}
			for n := range prizesUsual {
				pool.Prizes = append(pool.Prizes, draw.Prize{ID: "prize-" + string(rune('0'+n)), Name: "Prize", Stocked: plenty})
			}
			_, err = store.CreatePool(t.Context(), pool)
			require.NoError(t, err)

			require.NoError(t, fill(t.Context(), c, url))
			audit, err := store.Audit(t.Context(), poolOf(c))
			require.NoError(t, err)
			require.Empty(t, audit.Violations)
			var awards int64
			for _, p := range audit.Prizes {
				awards += p.Awards
			}
			require.Equal(t, int64(c.awards), awards)
			require.Len(t, audit.Prizes, max(c.prizes, prizesUsual))
		})
	}
}
