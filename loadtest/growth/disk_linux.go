package main

import "syscall"

// freeDisk returns the bytes that are free for this account in a folder.
func freeDisk(folder string) (int64, error) {
	var stat syscall.Statfs_t
	err := syscall.Statfs(folder, &stat)
	return int64(stat.Bavail) * stat.Bsize, err //nolint:gosec // no disk has that many
}
