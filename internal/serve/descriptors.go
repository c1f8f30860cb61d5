package serve

import (
	"log/slog"
)

const (
	// connectionsMost is the default where the limit of descriptors is higher or
	// unknown: so many idle connections take some 160 MB.
	connectionsMost = 8192
	// descriptorsKept are for the database, locks, probes, files and the log.
	descriptorsKept = 128
	// descriptorsFew is the limit below which serve warns.
	descriptorsFew = 1024
)

// connectionsDefault is the most connections of a process that may have limit
// descriptors, 0 for unknown.
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
