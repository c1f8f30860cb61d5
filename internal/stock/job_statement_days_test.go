package stock_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// since changes the time of everything that has happened to a pool.
func since(t *testing.T, s *stock.Store, dialect, poolID string, at time.Time) {
	t.Helper()
	format := map[string]string{"sqlite": "2006-01-02T15:04:05.000000Z", "postgres": "2006-01-02 15:04:05+00", "mysql": "2006-01-02 15:04:05"}[dialect]
	for _, table := range []string{"changes", "moves"} {
		stocktest.ExecAll(t, s, []string{fmt.Sprintf(`UPDATE %s SET at = '%s' WHERE pool_id = '%s'`, table, at.UTC().Format(format), poolID)})
	}
}

// TestStatementsWhereMidnightIsSkipped: in some zones the clocks are set from 24:00 to
// 01:00. Such a day has its lines like every other day.
func TestStatementsWhereMidnightIsSkipped(t *testing.T) {
	t.Parallel()
	santiago, err := rules.ParseZone("America/Santiago")
	require.NoError(t, err)
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 5)
			since(t, s, dialect, "p", time.Date(2026, 9, 4, 12, 0, 0, 0, santiago)) // clocks are set at the beginning of the 6th
			run := begin(t, s, job.Statement(s))
			run.Zone = santiago
			_, err := s.StateDays(t.Context(), run, "p")
			require.NoError(t, err)
			stocktest.ExecAll(t, s, []string{`DELETE FROM statements WHERE day > '2026-09-06'`})
			_, err = s.StateDays(t.Context(), run, "p") // from the day that begins at 01:00
			require.NoError(t, err)
			lines, _, err := s.Statements(t.Context(), "p", "", 4)
			require.NoError(t, err)
			var days []string
			for _, l := range lines {
				days = append(days, l.Day)
			}
			require.Equal(t, []string{"2026-09-04", "2026-09-05", "2026-09-06", "2026-09-07"}, days)
		})
	}
}

// TestStatementsOfManyLines: a run states all days of a large pool, in transactions that
// are short enough for the draws that wait for them.
func TestStatementsOfManyLines(t *testing.T) {
	t.Parallel()
	const prizes, days = 300, 40
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			p := draw.Pool{ID: "p", Name: "P"}
			for n := range prizes {
				p.Prizes = append(p.Prizes, draw.Prize{ID: fmt.Sprintf("prize-%03d", n), Name: "Prize", Stocked: 1})
			}
			_, err := s.CreatePool(t.Context(), p, "test")
			require.NoError(t, err)
			since(t, s, dialect, "p", time.Now().UTC().AddDate(0, 0, -days).Truncate(24*time.Hour).Add(12*time.Hour))
			d := job.Statement(s)
			run := begin(t, s, d)
			first, err := s.StateDays(t.Context(), run, "p")
			require.NoError(t, err)
			require.Equal(t, 10_000/prizes+1, first)
			report, err := d.Do(t.Context(), run)
			require.NoError(t, err)
			var said struct{ Pools, Days int }
			require.NoError(t, json.Unmarshal(report, &said))
			require.Equal(t, 1, said.Pools)
			require.InDelta(t, days-first, said.Days, 1, "a day may have ended meanwhile")
			var lines []job.Line
			for next := ""; len(lines) == 0 || next != ""; {
				page, last, err := s.Statements(t.Context(), "p", next, 1000)
				require.NoError(t, err)
				lines, next = append(lines, page...), last
			}
			require.Len(t, lines, (first+said.Days)*prizes)
		})
	}
}

// TestStatementsOfAPoolsLife: a pool that was created today has no line yet, an
// archived pool has the lines of its last day, and a deleted pool loses its lines.
func TestStatementsOfAPoolsLife(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			closed, archived := draw.StateClosed, true
			for _, id := range []string{"archived", "deleted", "new"} {
				stocktest.Pool(t, s, id, 5)
			}
			_, err := s.ChangePool(t.Context(), "archived", draw.PoolChange{State: &closed}, "test")
			require.NoError(t, err)
			_, err = s.ChangePool(t.Context(), "archived", draw.PoolChange{Archived: &archived}, "test")
			require.NoError(t, err)
			for _, id := range []string{"archived", "deleted"} {
				since(t, s, dialect, id, time.Now().UTC().AddDate(0, 0, -3))
			}
			d := job.Statement(s)
			_, err = d.Do(t.Context(), begin(t, s, d))
			require.NoError(t, err)
			count := func(id string) int {
				lines, _, err := s.Statements(t.Context(), id, "", 100)
				require.NoError(t, err)
				return len(lines)
			}
			require.Equal(t, 1, count("archived"), "it was closed on its only day with entries")
			require.Equal(t, 3, count("deleted"))
			require.Zero(t, count("new"))
			require.NoError(t, s.DeletePool(t.Context(), "deleted", nil, "test"))
		})
	}
}

// TestHistoryOfRunsThatNeverEnd: the history of runs is bounded even if no run ends.
func TestHistoryOfRunsThatNeverEnd(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	require.NoError(t, s.AddJobs(t.Context(), []job.Definition{job.Statement(s)}))
	for range job.RunsKept + 5 {
		stocktest.ExecAll(t, s, []string{`UPDATE jobs SET heard_at = NULL, due_at = changed_at`})
		_, begun, err := s.BeginJob(t.Context(), job.StatementName, "host")
		require.NoError(t, err)
		require.True(t, begun)
	}
	runs, err := s.JobRuns(t.Context(), job.StatementName, 0, 1000)
	require.NoError(t, err)
	require.Len(t, runs, job.RunsKept)
	require.Empty(t, runs[len(runs)-1].Result)
	require.Equal(t, job.ResultLost, runs[0].Result)
}
