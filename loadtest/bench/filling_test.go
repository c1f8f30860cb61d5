package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/place"
)

// TestFill: a pool that is filled by SQL keeps every rule of the audit, so that
// measurements on it are valid for a pool that was drawn from.
func TestFill(t *testing.T) {
	t.Parallel()
	some := candidate{}.withAwards(20_000)
	cases := map[string]candidate{"prizes": candidate{}.on("postgres").withPrizes(500)}
	full := some.on("postgres").coded()
	full.steps = true
	cases["codes and steps"] = full
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
				prize := draw.Prize{ID: fmt.Sprintf("prize-%d", n), Name: "Prize", Stocked: plenty, HasCodes: c.codes}
				if c.codes {
					prize.Stocked = 0
				}
				pool.Prizes = append(pool.Prizes, prize)
			}
			_, err := store.CreatePool(t.Context(), pool, "test")
			require.NoError(t, err)
			if c.codes {
				stockWithCodes(t, store, c, url)
			}

			require.NoError(t, fill(t.Context(), c, url))
			audit, err := store.Audit(t.Context(), poolOf(c))
			require.NoError(t, err)
			require.Empty(t, audit.Violations)
			require.Len(t, audit.Prizes, max(c.prizes, prizesUsual))
			if c.steps {
				requireReadOnce(t, store, c, url)
			}
			keys := drawIDs(t, url)
			require.Len(t, keys, c.awards)
			if c.awards > 0 {
				requireKeys(t, c, keys)
			}
		})
	}
}

// stockWithCodes does on a store what stockCodes does over HTTP.
func stockWithCodes(t *testing.T, store *stock.Store, c candidate, url string) {
	t.Helper()
	keys := stocktest.SealKeys(t, "k1").Ring()
	store.ReplaceSealKeys(keys)
	each := c.awards / prizesUsual
	for n := range prizesUsual {
		wanted := draw.CodeImport{PoolID: poolOf(c), PrizeID: fmt.Sprint("prize-", n), Actor: "test", Reserve: true}
		_, err := store.ImportCodes(t.Context(), wanted, strings.NewReader(fmt.Sprintf("BENCH-%010d", n)), nil)
		require.NoError(t, err)
	}
	require.NoError(t, fillCodes(t.Context(), url, poolOf(c), keys.First(), each))
	for n := range prizesUsual {
		_, err := store.Stock(t.Context(), draw.Stocking{PoolID: poolOf(c), PrizeID: fmt.Sprint("prize-", n), Delta: int64(each), Reason: "test"}, "test")
		require.NoError(t, err)
	}
}

// requireReadOnce requires that an audit reads steps by their index. If it read all steps
// again for each part, a million steps would take hours.
func requireReadOnce(t *testing.T, store *stock.Store, c candidate, url string) {
	t.Helper()
	require.NoError(t, store.Close()) // PostgreSQL counts the reads of a session when the session has ended
	var read, sessions int64
	for sessions = 1; sessions > 0; time.Sleep(pollEvery) {
		const open = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
		require.NoError(t, ask(t.Context(), url, open, &sessions))
	}
	require.NoError(t, ask(t.Context(), url, `SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_user_tables WHERE relname IN ('awards', 'steps')`, &read))
	require.Less(t, read, int64(20*c.awards))
}

// requireKeys requires that keys are UUIDs, one for each award. Only ordered keys rise
// over the whole log.
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

// drawIDs returns the ids of all draws, in the order in which they were drawn.
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
