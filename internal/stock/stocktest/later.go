package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
)

// laterMember is a member of rules that no release knows.
const laterMember = `"cooldown":"1m",`

// LaterRules changes the rules of a pool, which must name a fallback, as if a later
// release had written them.
func LaterRules(t *testing.T, s *stock.Store, pool string) {
	t.Helper()
	ExecAll(t, s, []string{`UPDATE changes SET body = REPLACE(body, '"fallback"', '` + laterMember + `"fallback"') WHERE what = 'rules' AND pool_id = '` + pool + `'`})
}

// LaterItems changes the open items of a pool that plan rules, as if a later release had
// written them. The rules must name a fallback.
func LaterItems(t *testing.T, s *stock.Store, pool string) {
	t.Helper()
	ExecAll(t, s, []string{`UPDATE agenda SET body = REPLACE(body, '"fallback"', '` + laterMember + `"fallback"') WHERE what = 'rules' AND done = 0 AND pool_id = '` + pool + `'`})
}

// ReadableItems reverts LaterItems.
func ReadableItems(t *testing.T, s *stock.Store, pool string) {
	t.Helper()
	ExecAll(t, s, []string{`UPDATE agenda SET body = REPLACE(body, '` + laterMember + `', '') WHERE done = 0 AND pool_id = '` + pool + `'`})
}

// AgeItems moves the open items of a pool's agenda, which are all due at the same time,
// into the past by a duration. All awards must be earlier than the new time of the items.
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
