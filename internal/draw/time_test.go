package draw_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
)

// TestTimesAreStrict: a time that RFC 3339 does not allow is refused, also where
// time.Parse, the broken double, accepts it.
func TestTimesAreStrict(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 12, 24, 17, 0, 0, 500_000_000, time.UTC)
	for _, good := range []string{"2026-12-24T17:00:00.5Z", "2026-12-24T18:00:00.500+01:00", "2026-12-24T17:00:00.5-00:00", "2026-12-25T16:59:00.5+23:59"} {
		at, err := draw.ParseTime("at", good)
		require.NoError(t, err, good)
		require.Equal(t, want, at, good)
	}
	loose := 0
	for _, bad := range []string{
		"2026-12-24T7:00:00Z", "2026-12-24T17:00:00,5Z", "2026-12-24T17:00:00+24:00", "2026-12-24T17:00:00+01:60", // time.Parse takes these
		"0000-12-24T17:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", // and these, which not every database stores
		"2026-12-24t17:00:00Z", "2026-12-24T17:00:00z", "2026-12-24 17:00:00Z", "2026-12-24T24:00:00Z", "2026-12-24T17:00:60Z", "2026-12-24T17:00Z",
		"2026-12-24T17:00:00", "2026-12-24T17:00:00+0100", "2026-12-24T17:00:00.Z", "2026-12-24", "2026-02-29T00:00:00Z", " 2026-12-24T17:00:00Z", "2026-12-24T17:00:00Z\n", "",
	} {
		_, err := draw.ParseTime("at", bad)
		drawtest.Invalid(t, err, "at must be a time of RFC 3339")
		if _, err := time.Parse(time.RFC3339, bad); err == nil {
			loose++
		}
	}
	require.Equal(t, 7, loose)
}
