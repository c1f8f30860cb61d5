package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
)

// laterMember is a member of rules that no release knows yet.
const laterMember = `"cooldown":"1m",`

// LaterRules turns the rules of a pool, which must name a fallback, into those of a
// later release.
func LaterRules(t *testing.T, s *stock.Store, pool string) {
	t.Helper()
	ExecAll(t, s, []string{`UPDATE changes SET body = REPLACE(body, '"fallback"', '` + laterMember + `"fallback"') WHERE what = 'rules' AND pool_id = '` + pool + `'`})
}

// LaterItems turns the open items of a pool's agenda that plan rules, which must name
// a fallback, into those of a later release.
func LaterItems(t *testing.T, s *stock.Store, pool string) {
	t.Helper()
	ExecAll(t, s, []string{`UPDATE agenda SET body = REPLACE(body, '"fallback"', '` + laterMember + `"fallback"') WHERE what = 'rules' AND done = 0 AND pool_id = '` + pool + `'`})
}

// ReadableItems reverts LaterItems.
func ReadableItems(t *testing.T, s *stock.Store, pool string) {
	t.Helper()
	ExecAll(t, s, []string{`UPDATE agenda SET body = REPLACE(body, '` + laterMember + `', '') WHERE done = 0 AND pool_id = '` + pool + `'`})
}

// AgeItems makes the open items of a pool's agenda that are due since a moment older by
// a time. All awards must be older than that.
func AgeItems(t *testing.T, s *stock.Store, pool string, by time.Duration) {
	t.Helper()
	items, err := s.Agenda(t.Context(), pool, 0, 1000, true)
	require.NoError(t, err)
	for _, i := range items {
		at := s.Engine().Time(i.At.Add(-by))
		for _, update := range []string{`UPDATE agenda SET at = ? WHERE done = 0 AND pool_id = ?`, `UPDATE pools SET due_at = ? WHERE id = ?`} {
			query, err := s.Engine().Placeholder.ReplacePlaceholders(update)
			require.NoError(t, err)
			_, err = s.Engine().Write.ExecContext(t.Context(), query, at, pool)
			require.NoError(t, err)
		}
	}
}
