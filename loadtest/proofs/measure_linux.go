package main

import (
	"os"
	"syscall"
)

// mostMemory is the most memory of a process that was resident at once, in bytes.
func mostMemory(state *os.ProcessState) int64 {
	usage, _ := state.SysUsage().(*syscall.Rusage)
	return usage.Maxrss << 10
}
