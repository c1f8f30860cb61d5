//go:build !linux

package ledger

import "time"

var processStart = time.Now() //nolint:gochecknoglobals // a clock needs a moment to count from

// sinceStart returns the time since this process started. It may stop while the machine
// is suspended.
func sinceStart() time.Duration { return time.Since(processStart) }
