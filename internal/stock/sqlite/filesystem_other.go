//go:build !linux

package sqlite

// fileSystem returns "" because the numbers exist only on Linux.
func fileSystem(string) string { return "" }

// unwritableFile returns "": on these systems only the start of the service shows whether
// the file may be written.
func unwritableFile(string) string { return "" }
