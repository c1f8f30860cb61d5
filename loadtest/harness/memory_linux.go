package harness

import "github.com/prometheus/procfs"

// mostMemory returns a process's peak resident memory so far, in bytes; 0 if it has
// ended.
func mostMemory(pid int) int64 {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	status, err := process.NewStatus()
	if err != nil {
		return 0
	}
	return int64(status.VmHWM) //nolint:gosec // it is far below the most that fits
}
