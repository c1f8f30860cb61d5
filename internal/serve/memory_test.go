package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	gauges "runtime/metrics"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"
)

// TestMemoryLimit: the runtime stays below the container's limit, and follows the
// environment.
func TestMemoryLimit(t *testing.T) { //nolint:paralleltest // sets what the process has once
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	var log bytes.Buffer
	limitMemory(slog.New(slog.NewTextHandler(&log, nil)), memlimit.Limit(1000<<20))
	require.Equal(t, int64(900<<20), debug.SetMemoryLimit(-1))
	require.Contains(t, log.String(), "bytes=943718400")

	limitMemory(slog.New(slog.NewTextHandler(&log, nil)), func() (uint64, error) { return 0, errors.New("no cgroup") })
	require.Equal(t, int64(900<<20), debug.SetMemoryLimit(-1), "an error changes nothing")
	require.Contains(t, log.String(), "no cgroup")

	t.Setenv("GOMEMLIMIT", "2GiB")
	limitMemory(slog.New(slog.DiscardHandler), memlimit.Limit(1<<20))
	require.Equal(t, int64(900<<20), debug.SetMemoryLimit(-1), "it was read at the start of the process")
	require.Less(t, debug.SetMemoryLimit(-1), int64(math.MaxInt64))
}

// TestGarbageIsBounded: while much memory is live, the collector starts earlier than at
// its usual percentage. While little is live, it does not.
func TestGarbageIsBounded(t *testing.T) { //nolint:paralleltest // sets what the process has once
	const percentMax = 400
	for live, percent := range map[uint64]uint64{0: percentMax, 12 << 20: percentMax, 24 << 20: 200, 48 << 20: 100, 1 << 30: 100} {
		require.Equal(t, percent, garbagePercent(live, percentMax), "%d bytes", live)
	}
	require.EqualValues(t, 50, garbagePercent(1<<30, 50), "less was asked for")

	before := debug.SetGCPercent(percentMax)
	defer debug.SetGCPercent(before)
	percent := func() uint64 {
		sample := []gauges.Sample{{Name: "/gc/gogc:percent"}}
		gauges.Read(sample)
		return sample[0].Value.Uint64()
	}
	becomes := func(want uint64) {
		runtime.GC()
		require.Eventually(t, func() bool { return percent() == want }, time.Minute, 10*time.Millisecond)
	}
	kept := make([]byte, 2*garbageMax)
	runtime.GC()
	t.Setenv("GOGC", "400")
	stop := boundGarbage()
	require.Never(t, func() bool { return percent() != percentMax }, 2*garbageEvery, 10*time.Millisecond, "the environment takes precedence")
	stop()
	t.Setenv("GOGC", "")
	defer boundGarbage()()
	becomes(100)
	runtime.KeepAlive(kept) // until here
	becomes(percentMax)
}
