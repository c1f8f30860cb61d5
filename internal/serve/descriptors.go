package serve

import (
	"log/slog"
)

const (
	// connectionsMost is the default if the limit of descriptors is higher or unknown:
	// that many idle connections take about 160 MB.
	connectionsMost = 8192
	// descriptorsKept is reserved for the database, locks, probes, files and the log.
	descriptorsKept = 128
	// descriptorsFew is the limit below which serve warns.
	descriptorsFew = 1024
)

// connectionsDefault returns the maximum number of connections for a process with the
// given limit of descriptors, 0 for unknown.
func connectionsDefault(limit uint64) int {
	if limit == 0 || limit > connectionsMost+descriptorsKept {
		return connectionsMost
	}
	return max(1, int(limit-min(descriptorsKept, limit/2)))
}

// warnOfDescriptors logs that few callers can be connected.
func warnOfDescriptors(log *slog.Logger, limit uint64, connections int) {
	if limit > 0 && limit < descriptorsFew {
		log.Warn("the limit of open files is low (ulimit -n)", "limit", limit, "connections_max", connections)
	}
}
