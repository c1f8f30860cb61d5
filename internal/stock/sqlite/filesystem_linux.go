package sqlite

import "syscall"

// fileSystem names the kind of file system that a path is on, "" for one that
// is not worth a word.
func fileSystem(path string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return ""
	}
	return fileSystemName(uint32(stat.Type)) //nolint:gosec // the numbers have 32 bits
}
