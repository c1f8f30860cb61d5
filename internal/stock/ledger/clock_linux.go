package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceStart returns the time since this machine started. It continues while the
// machine is suspended, as the database's clock does, and nobody can set it.
func sinceStart() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // Linux has this clock since 2.6.39
	}
	return time.Duration(t.Nano())
}
