package checkup

import (
	"fmt"
	"strconv"
)

// The sizes that the servers have by themselves. They are enough for short logs,
// so that a server with no more gets a note.
const (
	mebibyte          = 1 << 20
	buffersDefault    = 128 * mebibyte
	walDefault        = 1024 * mebibyte
	redoDefault       = 100 * mebibyte // MySQL's; MariaDB has 96
	checkpointDefault = 300            // seconds

	// The figures are of random keys on 2 million awards, see docs/performance.md.
	whyBuffers = "the index of draw keys no longer fits once the log has some million awards, " +
		"so that draws wait for pages and for room: at 2 million "
	whyCheckpoints = "; after it each page goes to the WAL as a whole when it is next changed: " +
		"with random keys 3 to 5 kB a draw at first, instead of 0.4"
	remedyCheckpoints = " and reload the configuration; recovery after a crash takes longer for it"
)

// postgresMemory: the service is as fast as the machine lets it.
func postgresMemory() []rule {
	return []rule{
		{
			"shared-buffers", LevelNote, noLarger("shared_buffers", buffersDefault),
			whyBuffers + "a server with 512 MB drew about a fifth more",
			"set shared_buffers to a quarter of the machine's memory, and restart the server",
		},
		{
			"max-wal-size", LevelNote, noLarger("max_wal_size", walDefault),
			"a checkpoint begins when about half of that is written" + whyCheckpoints,
			"set max_wal_size = 4GB or more, where the disk has room," + remedyCheckpoints,
		},
		{
			"checkpoint-timeout", LevelNote,
			func(v vitals, _ Options) string {
				if seconds, err := strconv.ParseInt(v["checkpoint_timeout"], 10, 64); err != nil || seconds > checkpointDefault {
					return ""
				}
				return "checkpoint_timeout = " + v["checkpoint_timeout"] + "s"
			},
			"a checkpoint begins that long after the last one at the latest" + whyCheckpoints,
			"set checkpoint_timeout = 15min or more" + remedyCheckpoints,
		},
	}
}

// mysqlMemory: as postgresMemory.
func mysqlMemory() []rule {
	return []rule{
		{
			"buffer-pool", LevelNote, noLarger("innodb_buffer_pool_size", buffersDefault),
			whyBuffers + "a server with 128 MB wrote 23 kB of pages a draw; one with 512 MB wrote 0.2 kB and drew half as much again or more",
			"set innodb_buffer_pool_size to half of the machine's memory or more",
		},
		{
			"redo-log", LevelNote,
			func(v vitals, o Options) string {
				if v["innodb_redo_log_capacity"] != "" { // from MySQL 8.0.30 on, which does not read the older one then
					return noLarger("innodb_redo_log_capacity", redoDefault)(v, o)
				}
				return noLarger("innodb_log_file_size", redoDefault)(v, o)
			},
			"changed pages have to be written out before the log comes round: with random keys at 2 million awards 1.3 kB a draw, " +
				"and 0.2 kB with a log of 512 MB",
			"set innodb_log_file_size (MySQL 8.0.30 and later: innodb_redo_log_capacity) to 512 MB or more",
		},
	}
}

// noLarger is broken when a size in bytes is the default, or less.
func noLarger(name string, size int64) func(vitals, Options) string {
	return func(v vitals, _ Options) string {
		bytes, err := strconv.ParseInt(v[name], 10, 64)
		if err != nil || bytes > size {
			return "" // also where there is no such setting
		}
		return fmt.Sprintf("%s = %d MB", name, bytes/mebibyte)
	}
}
