package sqlite

import "syscall"

// fileSystem returns the kind of file system of a path, or "" if no rule needs it.
func fileSystem(path string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return ""
	}
	return fileSystemName(uint32(stat.Type)) //nolint:gosec // the numbers have 32 bits
}

// writing is the constant W_OK of access(2).
const writing = 2

// unwritableFile returns why this account may not write a file, "" if it may. It does not
// open the file: closing it would end SQLite's locks.
func unwritableFile(path string) string {
	if err := syscall.Access(path, writing); err != nil {
		return err.Error()
	}
	return ""
}
