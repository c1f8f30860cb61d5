package serve

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	gauges "runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"drawsvc/internal/periodic"
)

// memoryPart is the part of the container's memory that the Go runtime may use; the
// rest is for memory that the runtime does not manage.
const memoryPart = 0.9

// limitMemory makes the runtime collect garbage before the container's memory is used up:
// by default the runtime trades memory for time and has no limit. GOMEMLIMIT in the
// environment takes precedence.
func limitMemory(log *slog.Logger, limit memlimit.Provider) {
	bytes, err := memlimit.Set(memlimit.WithProvider(limit), memlimit.WithRatio(memoryPart))
	switch {
	case err != nil:
		log.Info("the memory limit of the container could not be read; set GOMEMLIMIT", "error", err)
	case bytes < math.MaxInt64:
		log.Info("the Go runtime has a memory limit", "bytes", bytes)
	}
}

// garbageEvery is how often the collector is adapted to the live memory.
const garbageEvery = time.Second

// garbageMax is the garbage, in bytes, that may accumulate before the collector starts
// while much memory is live. A service with small pools stays below it.
const garbageMax = 48 << 20

// boundGarbage makes the collector start earlier while much memory is live, such as a
// pool of 100,000 prizes. Otherwise garbage would grow to a multiple of the live memory.
// Draws would not benefit from that enough. GOGC in the environment takes precedence.
func boundGarbage() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	samples := []gauges.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	gauges.Read(samples)
	percentMax := samples[1].Value.Uint64()
	return periodic.Start(garbageEvery, func(context.Context) {
		gauges.Read(samples)
		percent := garbagePercent(samples[0].Value.Uint64(), percentMax)
		if percent != samples[1].Value.Uint64() {
			debug.SetGCPercent(int(percent))
		}
	})
}

// garbagePercent is the ratio of garbage to live bytes at which the collector starts, in
// percent. It is the ratio that allows garbageMax bytes of garbage, but at least Go's
// default, and at most percentMax.
func garbagePercent(live, percentMax uint64) uint64 {
	return min(max(garbageMax*100/max(live, 1), 100), percentMax)
}
