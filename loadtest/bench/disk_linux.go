package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The file systems on which fsync does nothing.
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// fileSystem names the file system that statfs(2) returns as a number.
func fileSystem(magic int64) string {
	if name := map[int64]string{0xef53: "ext4", 0x58465342: "XFS", 0x9123683e: "Btrfs", 0x2fc12fc1: "ZFS", 0x794c7630: "overlay"}[magic]; name != "" {
		return name
	}
	return fmt.Sprintf("file system %#x", magic)
}

// readDisk measures the disk of the temporary folder: the median of some appends of 8
// KiB, each flushed before the next. It refuses a folder in memory.
func readDisk() (disk, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &stat); err != nil {
		return disk{}, err
	}
	if stat.Type == tmpfs || stat.Type == ramfs {
		return disk{}, errors.New("the folder for temporary files is in memory, where nothing is durable: set TMPDIR to a folder on a disk")
	}
	flush, err := flushTime()
	return disk{fileSystem: fileSystem(stat.Type), flush: flush}, err
}

func flushTime() (time.Duration, error) {
	folder, err := os.MkdirTemp("", "drawsvc-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	file, err := os.Create(filepath.Join(folder, "flushed"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	took := make([]float64, 200)
	page := make([]byte, 8<<10)
	for i := range took {
		begin := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(begin))
	}
	return time.Duration(spreadOf(took).Median), nil
}

func flushAll() { syscall.Sync() }
