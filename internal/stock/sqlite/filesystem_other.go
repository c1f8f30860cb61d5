//go:build !linux

package sqlite

// fileSystem returns "" on other systems: the numbers are Linux's.
func fileSystem(string) string { return "" }

// unwritableFile returns "" on other systems: there the service finds out when it starts.
func unwritableFile(string) string { return "" }
