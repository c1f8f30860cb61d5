package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// FailingDisk is a file system in a file. It can become read-only while programs have
// files open for writing. The kernel does the same with a file system after an error of
// its disk.
type FailingDisk struct{ Dir, device string }

// failingSize is the size of a FailingDisk, in bytes.
const failingSize = 128 << 20

// NewFailingDisk mounts a file system on a new folder below dir until the test ends. The
// servers' user owns it. If it cannot be mounted, the test ends as if a server were
// missing: only root may mount, and the kernel needs loop devices and ext4.
func NewFailingDisk(tb testing.TB, dir string) *FailingDisk {
	tb.Helper()
	Long(tb)
	d := &FailingDisk{Dir: filepath.Join(dir, "failing-disk")}
	file := filepath.Join(tb.TempDir(), "disk")
	for _, step := range []func() error{
		func() error { return os.WriteFile(file, nil, 0o600) },
		func() error { return os.Truncate(file, failingSize) },
		func() error { return os.Mkdir(d.Dir, 0o700) },
		func() error { return d.mount(tb, file) },
	} {
		if err := step(); err != nil {
			giveUp(tb, &missingError{program: err.Error()})
		}
	}
	if err := giveAway(d.Dir); err != nil {
		tb.Fatal(err)
	}
	return d
}

func (d *FailingDisk) mount(tb testing.TB, file string) error {
	if output, err := exec.Command("mkfs.ext4", "-q", file).CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4: %w %s", err, output)
	}
	if output, err := exec.Command("mount", "-o", "loop,errors=remount-ro", file, d.Dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w %s", err, output)
	}
	tb.Cleanup(func() {
		if output, err := exec.Command("umount", "-l", d.Dir).CombinedOutput(); err != nil {
			tb.Errorf("umount: %v %s", err, output)
		}
	})
	device, err := exec.Command("findmnt", "-n", "-o", "SOURCE", d.Dir).Output()
	d.device = filepath.Base(strings.TrimSpace(string(device)))
	return err
}

// Fail makes the file system read-only, even for open files.
func (d *FailingDisk) Fail() error {
	return os.WriteFile(filepath.Join("/sys/fs/ext4", d.device, "trigger_fs_error"), []byte("a test"), 0o200)
}
