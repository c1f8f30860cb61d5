//go:build !unix

package serve

// descriptorLimit returns 0: the system has no such limit.
func descriptorLimit() uint64 { return 0 }
