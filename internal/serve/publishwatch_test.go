package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
)

// TestPublisherBehind: the oldest entry without a checkpoint counts. If no publisher
// writes checkpoints, no entry counts.
func TestPublisherBehind(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var u unsigned
	lag := func(at int, heads ...stock.SignedHead) int {
		now := start.Add(time.Duration(at) * time.Second)
		for i := range heads {
			heads[i].Committed = 2
			heads[i].At = now
		}
		return int(u.lag(heads, now) / time.Second)
	}
	spring := func(version, signed int64) stock.SignedHead {
		return stock.SignedHead{PoolID: "spring", Version: version, Signed: signed}
	}
	require.Equal(t, 0, lag(0))
	require.Equal(t, 0, lag(10, spring(9, 2)), "no publisher")
	require.Equal(t, 0, lag(40, spring(20, 2)))
	require.Equal(t, 0, lag(60, spring(30, 30)), "all is signed")
	require.Equal(t, 0, lag(70, spring(40, 30)))
	require.Equal(t, 30, lag(100, spring(90, 30)), "it stopped, and draws go on")
	require.Equal(t, 40, lag(110, spring(95, 39)), "entry 40 is not signed")
	require.Equal(t, 0, lag(120, spring(99, 40)), "it goes on")
	require.Equal(t, 10, lag(130, spring(99, 41)))

	other := stock.SignedHead{PoolID: "autumn", Version: 5, Signed: 2}
	require.Equal(t, 0, lag(140, spring(99, 99), other))
	require.Equal(t, 20, lag(160, spring(99, 99), other), "a pool that the publisher does not know")

	late := unsigned{}
	require.Equal(t, time.Minute, late.lag([]stock.SignedHead{{PoolID: "spring", Version: 9, Signed: 4, Committed: 2, At: start}}, start.Add(time.Minute)),
		"an instance that has just started")
}
