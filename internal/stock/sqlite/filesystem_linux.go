package sqlite

import "syscall"

// fileSystem returns the kind of file system of a path, "" for one without a rule.
func fileSystem(path string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return ""
	}
	return fileSystemName(uint32(stat.Type)) //nolint:gosec // the numbers have 32 bits
}
