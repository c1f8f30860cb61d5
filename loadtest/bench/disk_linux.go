package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// inMemory are the file systems of which fsync is nothing.
func inMemory() []int64 {
	return []int64{0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */}
}

// flushTime refuses a folder in memory and measures the disk under it: the
// median of some appends of 8 KiB, each flushed before the next.
func flushTime() (time.Duration, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &stat); err != nil {
		return 0, err
	}
	if slices.Contains(inMemory(), stat.Type) {
		return 0, errors.New("the folder for temporary files is in memory, where nothing is durable: set TMPDIR to a folder on a disk")
	}
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

// flushAll writes out what earlier measurements have left to be written.
func flushAll() { syscall.Sync() }
