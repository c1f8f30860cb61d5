package serve

import (
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryPart is the part of the container's memory that the Go runtime may use; the
// rest is for memory that the runtime does not manage.
const memoryPart = 0.9

// limitMemory makes the runtime collect garbage before the container's memory is used
// up: by default it trades memory for time and knows no limit. GOMEMLIMIT in the
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
