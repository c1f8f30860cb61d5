package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk is a file system in memory whose space can be used up.
type SmallDisk struct{ Dir string }

// MountSmallDisk mounts a file system with a size in bytes on an existing folder. Only
// root may do so. The servers' user owns the file system.
func MountSmallDisk(folder string, size int64) (*SmallDisk, error) {
	output, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=700", size), "drawsvc-test", folder).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("no small file system can be mounted here: %w %s", err, output)
	}
	d := &SmallDisk{folder}
	if err := giveAway(folder); err != nil {
		return nil, errors.Join(err, d.Unmount())
	}
	return d, nil
}

// NewSmallDisk mounts a file system on a new folder below dir until the test ends. If it
// cannot be mounted, the test ends as if a server were missing.
func NewSmallDisk(tb testing.TB, dir string, size int64) *SmallDisk {
	tb.Helper()
	Long(tb)
	folder := filepath.Join(dir, "small-disk")
	if err := os.Mkdir(folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	d, err := MountSmallDisk(folder, size)
	if err != nil {
		giveUp(tb, &missingError{program: "mount: " + err.Error()})
	}
	tb.Cleanup(func() {
		if err := d.Unmount(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// Unmount removes the file system, even if files in it are open.
func (d *SmallDisk) Unmount() error {
	if output, err := exec.Command("umount", "-l", d.Dir).CombinedOutput(); err != nil {
		return fmt.Errorf("umount: %w %s", err, output)
	}
	return nil
}

func (d *SmallDisk) filler() string { return filepath.Join(d.Dir, "filler") }

// Fill uses up the free space. It may be called again.
func (d *SmallDisk) Fill() error {
	f, err := os.OpenFile(d.filler(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, size := range []int{1 << 20, 4096, 1} {
		chunk := make([]byte, size)
		for {
			if _, err := f.Write(chunk); errors.Is(err, syscall.ENOSPC) {
				break
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// Free releases the space that Fill has used up.
func (d *SmallDisk) Free() error { return os.Remove(d.filler()) }
