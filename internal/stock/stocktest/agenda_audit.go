package stocktest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testAgendaAudit: the audit finds rows of the agenda that do not match the log.
func testAgendaAudit(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 5)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{StockAt(at, "a", 1), StockAt(at, "a", 1), StateAt(at, draw.StatePaused), StateAt(at.Add(time.Hour), draw.StateOpen)}
	})
	Await(t, s, at)
	require.NoError(t, s.RunDue(t.Context(), "p"))
	NoViolations(t, s, "p")
	// An item that is carried out a second time fails, because its move exists already.
	kept := Keep(t, s, "p")
	ExecAll(t, s, []string{`UPDATE agenda SET done = 0 WHERE item = 1`, `UPDATE pools SET due_at = (SELECT at FROM agenda WHERE item = 1)`})
	require.NoError(t, s.RunDue(t.Context(), "p"))
	pool, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.EqualValues(t, 7, pool.Prizes[0].Stocked)
	audit, err := s.Audit(t.Context(), "p")
	require.NoError(t, err)
	require.NotEmpty(t, audit.Violations)
	require.Equal(t, "agenda-double", audit.Violations[0].Rule)
	kept.PutBack(t, s)
	NoViolations(t, s, "p")

	for _, tampered := range []struct {
		with, back string
		rules      []string
	}{
		{`UPDATE agenda SET done = 7 WHERE item = 1`, `UPDATE agenda SET done = 7 WHERE item = 1`, nil}, // this changes nothing
		{`UPDATE agenda SET done = 8 WHERE item = 1`, `UPDATE agenda SET done = 7 WHERE item = 1`, []string{"agenda-double"}},
		{`UPDATE agenda SET done = 99 WHERE item = 3`, `UPDATE agenda SET done = 9 WHERE item = 3`, []string{"agenda-double"}},
		{`UPDATE agenda SET done = 0 WHERE item = 2`, `UPDATE agenda SET done = 8 WHERE item = 2`, []string{"agenda-double"}},
		{`UPDATE moves SET delta = 2 WHERE version = 8`, `UPDATE moves SET delta = 1 WHERE version = 8`, []string{"agenda-double", "stocked-is-moves"}},
		{`UPDATE changes SET body = '{"state":"closed"}' WHERE version = 9`, `UPDATE changes SET body = '{"state":"paused"}' WHERE version = 9`, []string{"agenda-double", "state-is-changes"}},
		{`UPDATE agenda SET at = '2020-01-01 00:00:00' WHERE item = 1`, "", []string{"due-missed"}},
		{`UPDATE agenda SET at = '2020-01-01 00:00:00' WHERE item = 4`, "", []string{"agenda-undone", "due-missed"}},
	} {
		with := tampered.with
		if s.Dialect() == "sqlite" {
			with = strings.ReplaceAll(with, "'2020-01-01 00:00:00'", "'2020-01-01T00:00:00.000000Z'")
		}
		ExecAll(t, s, []string{with})
		audit, err := s.Audit(t.Context(), "p")
		require.NoError(t, err)
		found := map[string]bool{}
		for _, v := range audit.Violations {
			found[v.Rule] = true
		}
		for _, rule := range tampered.rules {
			require.True(t, found[rule], "%s: %v", with, audit.Violations)
		}
		if tampered.back == "" {
			continue
		}
		if strings.Contains(with, "done = 0") {
			delete(found, "agenda-undone") // found too, if the item has been due for long enough
		}
		require.Len(t, found, len(tampered.rules), "%s: %v", with, audit.Violations)
		ExecAll(t, s, []string{tampered.back})
		NoViolations(t, s, "p")
	}
}
