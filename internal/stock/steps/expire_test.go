package steps

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExpiryLeavesTimeForDraws: an expiry pauses four times as long as it works. Its
// pause is bounded, and ends with its run.
func TestExpiryLeavesTimeForDraws(t *testing.T) {
	t.Parallel()
	for took, rest := range map[time.Duration]time.Duration{
		0: 0, 10 * time.Millisecond: 40 * time.Millisecond, 90 * time.Millisecond: 360 * time.Millisecond, time.Minute: restMax,
	} {
		require.Equal(t, rest, restAfter(took))
	}
	require.NoError(t, pause(t.Context(), time.Nanosecond))
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, pause(ended, time.Hour), context.Canceled)
}
