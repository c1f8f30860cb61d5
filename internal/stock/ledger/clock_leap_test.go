package ledger

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func clockOf(leapMax time.Duration) *Clock {
	c := &Clock{leapMax: leapMax, log: slog.New(slog.DiscardHandler)}
	c.last.Store(&reading{here: 0, there: time.Unix(1_000_000, 0)})
	return c
}

// TestLeapIsNotFollowed: the clock follows readings that drift. It does not follow a leap
// until the leap has lasted for five minutes. A leap ends as soon as a reading fits
// again.
func TestLeapIsNotFollowed(t *testing.T) {
	t.Parallel()
	c := clockOf(time.Minute)
	there := func(here, off time.Duration) reading {
		return reading{here: here, there: time.Unix(1_000_000, 0).Add(here + off)}
	}
	c.take(there(10*time.Second, 50*time.Second))
	require.Nil(t, c.leap.Load(), "within the minute")
	c.take(there(20*time.Second, 100*time.Second))
	require.Nil(t, c.leap.Load(), "against the last reading")

	c.take(there(30*time.Second, 960*time.Hour))
	require.Equal(t, 960*time.Hour-100*time.Second, c.leap.Load().by)
	require.Equal(t, there(40*time.Second, 100*time.Second).there, c.last.Load().at(40*time.Second))
	c.take(there(42*time.Second, 99*time.Second))
	require.Nil(t, c.leap.Load(), "the clock is right again")

	for _, off := range []time.Duration{-3 * time.Hour, 2 * time.Hour} {
		begun := c.last.Load().here + time.Second
		for here := begun; here < begun+leapStands; here += 10 * time.Second {
			c.take(there(here, off))
			require.NotNil(t, c.leap.Load(), "%s at %s", off, here)
		}
		c.take(there(begun+leapStands, off))
		require.Nil(t, c.leap.Load(), "it has stood")
		require.Equal(t, there(begun+leapStands, off).there, c.last.Load().there)
	}

	again := clockOf(time.Minute)
	again.take(there(time.Second, 960*time.Hour))
	again.take(there(leapStands, -3*time.Hour))
	again.take(there(time.Second+leapStands, -3*time.Hour))
	require.Equal(t, -3*time.Hour, again.leap.Load().by, "another leap has to stand for itself")

	every := clockOf(0)
	every.take(there(10*time.Second, 960*time.Hour))
	require.Nil(t, every.leap.Load())
	require.Equal(t, there(10*time.Second, 960*time.Hour).there, every.last.Load().there, "0 follows every leap")
}
