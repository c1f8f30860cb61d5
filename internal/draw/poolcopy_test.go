package draw_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// TestShiftWhereClocksChange: an item of a copy keeps its time of day. The broken double
// adds the days with time.AddDate. It is wrong for some times that clocks show twice or
// skip.
func TestShiftWhereClocksChange(t *testing.T) {
	t.Parallel()
	cases := []struct {
		about, zone, at string
		days            int
		want            string
	}{
		{"summer time begins", "Europe/Berlin", "2027-03-20T12:00:00+01:00", 14, "2027-04-03T12:00:00+02:00"},
		{"summer time ends", "Europe/Berlin", "2026-10-20T00:00:00+02:00", 7, "2026-10-27T00:00:00+01:00"},
		{"skipped", "Europe/Berlin", "2027-03-27T02:30:00+01:00", 1, "2027-03-28T03:30:00+02:00"},
		{"skipped, backwards", "Europe/Berlin", "2027-03-29T02:30:00+02:00", -1, "2027-03-28T03:30:00+02:00"},
		{"skipped in New York", "America/New_York", "2027-03-13T02:30:00-05:00", 1, "2027-03-14T03:30:00-04:00"},
		{"skipped half an hour", "Australia/Lord_Howe", "2026-10-03T02:15:00+10:30", 1, "2026-10-04T02:45:00+11:00"},
		{"twice, from summer", "Europe/Berlin", "2026-10-24T02:30:00+02:00", 1, "2026-10-25T02:30:00+02:00"},
		{"twice, from winter", "Europe/Berlin", "2026-10-26T02:30:00+01:00", -1, "2026-10-25T02:30:00+01:00"},
		{"twice in New York", "America/New_York", "2026-10-31T01:30:00-04:00", 1, "2026-11-01T01:30:00-04:00"},
		{"the first of two stays", "Europe/Berlin", "2026-10-25T02:30:00+02:00", 0, "2026-10-25T02:30:00+02:00"},
		{"the second of two stays", "Europe/Berlin", "2026-10-25T02:30:00+01:00", 0, "2026-10-25T02:30:00+01:00"},
	}
	caught := 0
	for _, c := range cases {
		zone, err := rules.ParseZone(c.zone)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339, c.at)
		require.NoError(t, err)
		shifted := (&draw.PoolCopy{Days: &c.days}).Shift(at, zone)
		require.Equal(t, c.want, shifted.Format(time.RFC3339), c.about)
		if at.In(zone).AddDate(0, 0, c.days).Format(time.RFC3339) != c.want {
			caught++
		}
	}
	require.Positive(t, caught, "the broken double")
}
