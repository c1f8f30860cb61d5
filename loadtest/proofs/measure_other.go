//go:build !linux

package main

import "os"

// mostMemory is known on Linux alone.
func mostMemory(*os.ProcessState) int64 { return 0 }
