package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/place"
)

// TestFill: a pool that is filled by SQL keeps every rule of the audit, so that
// what is measured on it is what would be measured on one that was drawn from.
func TestFill(t *testing.T) {
	t.Parallel()
	some := candidate{}.withAwards(20_000)
	cases := map[string]candidate{"prizes": candidate{}.on("postgres").withPrizes(500)}
	for _, database := range stock.Dialects() {
		cases["awards, "+database] = some.on(database)
		cases["awards by time, "+database] = some.on(database).withOrderedKeys()
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, c.database)
			store := stocktest.Open(t, url, stock.Options{})
			pool := draw.Pool{ID: poolOf(c), Name: "Bench"}
			for n := range prizesUsual {
				pool.Prizes = append(pool.Prizes, draw.Prize{ID: fmt.Sprintf("prize-%d", n), Name: "Prize", Stocked: plenty})
			}
			_, err := store.CreatePool(t.Context(), pool, "test")
			require.NoError(t, err)

			require.NoError(t, fill(t.Context(), c, url))
			audit, err := store.Audit(t.Context(), poolOf(c))
			require.NoError(t, err)
			require.Empty(t, audit.Violations)
			require.Len(t, audit.Prizes, max(c.prizes, prizesUsual))
			keys := drawIDs(t, url)
			require.Len(t, keys, c.awards)
			if c.awards > 0 {
				requireKeys(t, c, keys)
			}
		})
	}
}

// requireKeys: keys are UUIDs, one for each award. Those ordered by time always
// rise; those at random start again with each statement that fills.
func requireKeys(t *testing.T, c candidate, keys []string) {
	t.Helper()
	version := "4"
	if c.keys == keysOrdered {
		version = "7"
	}
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-`+version+`[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`, keys[0])
	assert.Equal(t, c.keys == keysOrdered, slices.IsSorted(keys))
	slices.Sort(keys)
	assert.Len(t, slices.Compact(keys), c.awards)
}

// drawIDs reads the names of all draws, in the order in which they were drawn.
func drawIDs(t *testing.T, url string) (keys []string) {
	t.Helper()
	db, err := place.Open(url)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT draw_id FROM awards ORDER BY version`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var key string
		require.NoError(t, rows.Scan(&key))
		keys = append(keys, key)
	}
	require.NoError(t, rows.Err())
	return keys
}
