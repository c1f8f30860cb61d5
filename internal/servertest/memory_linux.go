package servertest

import "syscall"

// memoryMin is the room that the servers of one test process may want, and
// more: a container's own /dev/shm of 64 MiB is no place for a database.
const memoryMin = 2 << 30

// memoryFolder returns a folder in memory, or "" where there is none with
// enough room. A database is hundreds of small files, which cost ten times as
// much to make on a disk: 300 ms for a new PostgreSQL database, here 25.
func memoryFolder() string {
	const folder = "/dev/shm"
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return ""
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < memoryMin {
		return ""
	}
	return folder
}
