package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"testing"

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
