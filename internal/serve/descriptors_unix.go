//go:build unix

package serve

import "syscall"

// descriptorLimit returns how many descriptors the process may have, 0 if that is
// unknown.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // is signed on some systems
}
