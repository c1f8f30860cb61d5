package draw_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/rules"
)

func TestWindows(t *testing.T) {
	for _, c := range []struct{ zone, per, at, start, next string }{
		{"UTC", "day", "2026-03-29T00:00:00Z", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"},
		{"UTC", "day", "2026-03-28T23:59:59.999999Z", "2026-03-28T00:00:00Z", "2026-03-29T00:00:00Z"},
		{"UTC", "week", "2026-03-29T12:00:00Z", "2026-03-23T00:00:00Z", "2026-03-30T00:00:00Z"},
		{"UTC", "week", "2026-03-30T00:00:00Z", "2026-03-30T00:00:00Z", "2026-04-06T00:00:00Z"},
		{"UTC", "month", "2026-12-31T12:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		// 23 hours and 25 hours.
		{"Europe/Berlin", "day", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", "day", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"Europe/Berlin", "week", "2026-10-25T12:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"Europe/Berlin", "month", "2026-10-25T12:00:00Z", "2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z"},
		// The hour that the clocks repeat is two windows.
		{"Europe/Berlin", "hour", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"Europe/Berlin", "hour", "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		{"Asia/Kolkata", "hour", "2026-05-01T10:00:00Z", "2026-05-01T09:30:00Z", "2026-05-01T10:30:00Z"},
		{"Asia/Kolkata", "day", "2026-05-01T18:29:59Z", "2026-04-30T18:30:00Z", "2026-05-01T18:30:00Z"},
		{"Asia/Kathmandu", "hour", "2026-05-01T10:00:00Z", "2026-05-01T09:15:00Z", "2026-05-01T10:15:00Z"},
		// Clocks go back half an hour at 2:00, so the time from 1:30 to 2:00 comes twice,
		// with different offsets.
		{"Australia/Lord_Howe", "hour", "2026-04-04T14:45:00Z", "2026-04-04T14:00:00Z", "2026-04-04T15:00:00Z"},
		{"Australia/Lord_Howe", "hour", "2026-04-04T15:10:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z"},
		// No midnight: the day begins at 1:00.
		{"America/Sao_Paulo", "day", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", "day", "2018-11-03T12:00:00Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		// Midnight twice: the day begins with the first.
		{"America/Havana", "day", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		// The last day of a leap year after the zone's list of changes.
		{"Europe/Berlin", "day", "2052-12-31T12:00:00Z", "2052-12-30T23:00:00Z", "2052-12-31T23:00:00Z"},
		{"Europe/Berlin", "hour", "2052-12-31T12:30:00Z", "2052-12-31T12:00:00Z", "2052-12-31T13:00:00Z"},
		{"Europe/Berlin", "month", "2052-12-31T12:00:00Z", "2052-11-30T23:00:00Z", "2052-12-31T23:00:00Z"},
		// The 30th did not exist there.
		{"Pacific/Apia", "day", "2011-12-29T20:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "day", "2011-12-30T20:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.at)
		require.NoError(t, err)
		per := drawtest.Per(t, c.per)
		require.Equal(t, c.start, per.Start(at, drawtest.Zone(t, c.zone)).Format(time.RFC3339Nano), "start of %v", c)
		require.Equal(t, c.next, per.Next(at, drawtest.Zone(t, c.zone)).Format(time.RFC3339Nano), "next of %v", c)
	}
	at := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	require.Equal(t, at.Add(-time.Hour), drawtest.Per(t, "1h").Start(at, time.UTC))
	require.True(t, drawtest.Per(t, "1h").Next(at, time.UTC).IsZero())
	require.True(t, draw.Per{}.Start(at, time.UTC).IsZero())
	require.True(t, draw.Per{}.Next(at, time.UTC).IsZero())
}

// clock returns the part of a local time that all instants of a calendar window share.
func clock(window string, local time.Time) [4]int {
	year, month, day := local.Date()
	_, offset := local.Zone()
	switch window {
	case "hour":
		return [4]int{year*10_000 + int(month)*100 + day, local.Hour(), offset}
	case "week":
		year, week := local.ISOWeek()
		return [4]int{year, week}
	case "month":
		return [4]int{year, int(month)}
	}
	return [4]int{year, int(month), day}
}

// boundsOf finds a window by going through time minute by minute. It uses only the
// local time.
func boundsOf(window string, at time.Time, z *time.Location) (start, next time.Time) {
	const step = time.Minute
	same := func(t time.Time) bool { return clock(window, t.In(z)) == clock(window, at.In(z)) }
	for start = at.Truncate(step); same(start.Add(-step)); {
		start = start.Add(-step)
	}
	for next = at.Truncate(step); same(next); {
		next = next.Add(step)
	}
	return start, next
}

// TestWindowsAgainstTheClock compares hours and days around all kinds of clock
// changes with a search. A fixed day of 24 hours, and time.Date, fail it.
func TestWindowsAgainstTheClock(t *testing.T) {
	differ := func(t *rapid.T, start func(draw.Per, time.Time, *time.Location) time.Time) bool {
		z, err := rules.ParseZone(rapid.SampledFrom(drawtest.OddZones()).Draw(t, "zone"))
		require.NoError(t, err)
		at := time.Date(2008, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 20*366*24*60).Draw(t, "minute")) * time.Minute)
		if _, to := at.In(z).ZoneBounds(); !to.IsZero() && rapid.Bool().Draw(t, "near a change") {
			at = to.Add(time.Duration(rapid.IntRange(-1500, 1500).Draw(t, "off")) * time.Minute).UTC()
		}
		at = at.Add(time.Duration(rapid.IntRange(0, 59_999_999).Draw(t, "µs")) * time.Microsecond)
		window := rapid.SampledFrom(drawtest.Windows()[:2]).Draw(t, "per")
		wantStart, wantNext := boundsOf(window, at, z)
		per := drawtest.Per(t, window)
		return !start(per, at, z).Equal(wantStart) || !per.Next(at, z).Equal(wantNext)
	}
	rapid.Check(t, func(t *rapid.T) {
		if differ(t, draw.Per.Start) {
			t.Fatal("another window than the clock's")
		}
	})
	for name, double := range map[string]func(draw.Per, time.Time, *time.Location) time.Time{
		"UTC days":  func(p draw.Per, at time.Time, _ *time.Location) time.Time { return p.Start(at, time.UTC) },
		"time.Date": naiveDate, "24 hours": daysOf24,
	} {
		caught := false
		for seed := 0; seed < 3000 && !caught; seed++ {
			rapid.Custom(func(t *rapid.T) bool { caught = caught || differ(t, double); return true }).Example(seed)
		}
		require.True(t, caught, name)
	}
}

func naiveDate(p draw.Per, at time.Time, z *time.Location) time.Time {
	if p.String() != "day" {
		return p.Start(at, z)
	}
	y, m, d := at.In(z).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, z)
}

func daysOf24(p draw.Per, at time.Time, z *time.Location) time.Time {
	if p.String() != "day" {
		return p.Start(at, z)
	}
	_, offset := at.In(z).Zone()
	shift := time.Duration(offset) * time.Second
	return at.Add(shift).Truncate(24 * time.Hour).Add(-shift)
}

// TestWeeksAndMonths: a week or a month begins and ends with a day, and all of its
// instants have the same week or month.
func TestWeeksAndMonths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z, err := rules.ParseZone(rapid.SampledFrom(drawtest.OddZones()).Draw(t, "zone"))
		require.NoError(t, err)
		at := time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 15*366*24*60).Draw(t, "minute")) * time.Minute)
		for _, window := range drawtest.Windows()[2:] {
			per := drawtest.Per(t, window)
			start, next := per.Start(at, z), per.Next(at, z)
			require.False(t, start.After(at))
			require.True(t, next.After(at))
			same := func(u time.Time) bool { return clock(window, u.In(z)) == clock(window, at.In(z)) }
			require.True(t, same(start) && same(next.Add(-time.Microsecond)))
			require.False(t, same(start.Add(-time.Microsecond)) || same(next))
		}
	})
}

// TestPerKeepsTheTextOfTheDocument: answers write a window as the document does, and two
// windows of equal length are equal, however they are written.
func TestPerKeepsTheTextOfTheDocument(t *testing.T) {
	for _, text := range []string{"day", "60m", "90m", "3600s", "168h", "1.5h", "1h30m0s"} {
		require.Equal(t, text, drawtest.Per(t, text).String())
	}
	r := drawtest.Rules(t, `{"limits":[{"of":"draws","max":1,"per":"60m"}]}`)
	require.Equal(t, "60m", r.Limits[0].Per.String())
	_, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":1,"per":"60m"},{"of":"draws","max":2,"per":"1h"}]}`))
	require.ErrorContains(t, err, "limits the same")
}
