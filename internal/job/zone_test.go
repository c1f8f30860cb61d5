package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/rules"
	"drawsvc/internal/job"
)

// TestLocalDayBeginsOnce: each local day begins once, in order, at an instant of that
// day, even if a change of clocks skips midnight or repeats it.
func TestLocalDayBeginsOnce(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Berlin", "Africa/Cairo", "America/Havana", "America/Santiago", "America/Sao_Paulo", "America/Asuncion",
		"Asia/Amman", "Asia/Beirut", "Asia/Gaza", "Asia/Tehran", "Australia/Lord_Howe", "Atlantic/Azores",
	} {
		zone, err := rules.ParseZone(name)
		require.NoError(t, err)
		before := job.Midnight(2014, time.December, 31, zone)
		for n := range 365 * 12 {
			want := time.Date(2015, time.January, 1+n, 0, 0, 0, 0, time.UTC)
			begins := job.Midnight(2015, time.January, 1+n, zone)
			require.Equal(t, want.Format(time.DateOnly), begins.Format(time.DateOnly), name)
			require.NotEqual(t, want.Format(time.DateOnly), begins.Add(-time.Microsecond).Format(time.DateOnly), "%s: %s is not the beginning", name, begins)
			require.InDelta(t, 24, begins.Sub(before).Hours(), 1, "%s: %s", name, begins)
			before = begins
		}
	}
}

// TestPatternSchedulesSurviveClockChanges: if the hours are a pattern, a change of clocks
// by an hour lengthens the time between two firings by at most an hour.
func TestPatternSchedulesSurviveClockChanges(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "Africa/Cairo", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		for fields, hours := range map[string]float64{"30 * * * *": 1, "*/15 * * * *": 0.25, "0 */6 * * *": 6} {
			s, err := job.Parse("CRON_TZ=" + zone + " " + fields)
			require.NoError(t, err)
			for next, end := s.Next(at(t, "2023-03-01T12:10:00Z")), at(t, "2023-11-15T00:00:00Z"); next.Before(end); {
				after := s.Next(next)
				require.True(t, after.After(next), "%s in %s after %s", fields, zone, next)
				require.LessOrEqual(t, after.Sub(next).Hours(), hours+1, "%s in %s after %s", fields, zone, next)
				next = after
			}
		}
	}
}
