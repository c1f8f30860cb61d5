package stock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestStatements: every award is counted on one day, days end at midnight of their zone,
// and days that were missed are added later.
func TestStatements(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			_, err := s.CreatePool(t.Context(), draw.Pool{ID: "p", Name: "P", State: draw.StateOpen, Prizes: []draw.Prize{
				{ID: "gold", Name: "Gold", Value: decimal.RequireFromString("19.90"), Stocked: 10}, {ID: "pin", Name: "Pin", Stocked: 5},
			}}, "test")
			require.NoError(t, err)
			won := map[string]int64{}
			for n, prize := range []string{"gold", "pin", "gold", "gold"} {
				plan := stocktest.Plan("p", int64(3+n), prize, won[prize], fmt.Sprint("draw-", n))
				require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, plan))
				won[prize]++
			}
			// The pool was created, and two awards were won, four days ago. The other
			// awards were won two days ago.
			at := func(days int, clock string) string {
				return time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly) + " " + clock
			}
			set := func(table, versions, when string) {
				if dialect == "sqlite" {
					when = when[:10] + "T" + when[11:] + ".000000Z"
				}
				if dialect == "postgres" {
					when += "+00"
				}
				stocktest.ExecAll(t, s, []string{fmt.Sprintf(`UPDATE %s SET at = '%s' WHERE version IN (%s)`, table, when, versions)})
			}
			awards, err := s.Awards(t.Context(), "p", 0, 100)
			require.NoError(t, err)
			set("changes", "1", at(4, "10:00:00"))
			set("moves", "2, 3", at(4, "10:00:00"))
			set("awards", fmt.Sprint(awards[0].Version, ",", awards[1].Version), at(4, "23:30:00"))
			set("awards", fmt.Sprint(awards[2].Version), at(2, "12:00:00"))
			set("awards", fmt.Sprint(awards[3].Version), at(0, "00:00:00"))

			run := begin(t, s, job.Statement(s))
			days, err := s.StateDays(t.Context(), run, "p")
			require.NoError(t, err)
			require.Equal(t, 4, days, "the day that is not over has no line")
			lines, _, err := s.Statements(t.Context(), "p", "", 100)
			require.NoError(t, err)
			require.Len(t, lines, 8)
			issued := [4]int64{}
			for i, l := range lines {
				issued[i/2] += l.Issued
			}
			require.Equal(t, [4]int64{2, 0, 1, 0}, issued)
			require.Equal(t, awards[2].Version, lines[7].ToVersion)
			require.Equal(t, "gold", lines[6].Prize)
			last := map[string]int64{awards[3].PrizeID: 1}
			require.Equal(t, 10-won["gold"]+last["gold"], lines[6].Remaining)

			days, err = s.StateDays(t.Context(), run, "p")
			require.NoError(t, err)
			require.Zero(t, days, "the days have their lines")

			// In this zone, the first two awards were won on the next day.
			stocktest.ExecAll(t, s, []string{`DELETE FROM statements`})
			run.Zone = time.FixedZone("east", 3600)
			_, err = s.StateDays(t.Context(), run, "p")
			require.NoError(t, err)
			lines, _, err = s.Statements(t.Context(), "p", "", 2)
			require.NoError(t, err)
			require.Len(t, lines, 4, "two days")
			require.Zero(t, lines[0].Issued+lines[1].Issued)
			require.EqualValues(t, 2, lines[2].Issued+lines[3].Issued)
			var gold job.Line
			for _, l := range lines {
				if l.Prize == "gold" {
					gold = l
				}
			}
			require.True(t, gold.Value.Equal(decimal.RequireFromString("19.90").Mul(decimal.NewFromInt(gold.Issued))), gold.Value)

			// A finished run writes nothing.
			stocktest.ExecAll(t, s, []string{`DELETE FROM statements`})
			require.NoError(t, s.FinishJob(t.Context(), run, job.Outcome{Result: job.ResultOK}))
			_, err = s.StateDays(t.Context(), run, "p")
			require.ErrorIs(t, err, job.ErrLost)
			lines, _, err = s.Statements(t.Context(), "p", "", 2)
			require.NoError(t, err)
			require.Empty(t, lines)
			_, _, err = s.Statements(t.Context(), "nope", "", 2)
			require.Equal(t, draw.CodePoolNotFound, draw.CodeOf(err))
		})
	}
}

// begin begins a requested run of a job.
func begin(t *testing.T, s *stock.Store, d job.Definition) job.Run {
	t.Helper()
	require.NoError(t, s.AddJobs(t.Context(), []job.Definition{d}))
	_, err := s.WantJob(t.Context(), d.Name, "ann")
	require.NoError(t, err)
	run, begun, err := s.BeginJob(t.Context(), d.Name, "host")
	require.NoError(t, err)
	require.True(t, begun)
	return run
}
