package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// TestUnwritableFolderIsReported: in this folder not even root can create a file.
func TestUnwritableFolderIsReported(t *testing.T) {
	require.Empty(t, unwritable(t.TempDir()))
	require.NotEmpty(t, unwritable(t.TempDir()+"/missing"))
}

// TestUnwritableFileIsReported: the doctor reports a file that this account may not
// write, and also a file on a file system that is mounted read-only.
func TestUnwritableFileIsReported(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems do not check this
	}
	disk := servertest.NewSmallDisk(t, t.TempDir(), 1<<20)
	path := filepath.Join(disk.Dir, "draws.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.Empty(t, unwritableFile(path))
	require.NoError(t, exec.Command("mount", "-o", "remount,ro", disk.Dir).Run())
	require.Equal(t, "read-only file system", unwritableFile(path))
}

// TestFileSystemsAreNamed: the file systems that have a rule are named by their number.
func TestFileSystemsAreNamed(t *testing.T) {
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xfe534d42: "SMB", 0x65735546: "FUSE", 0xef53: ""} { // the last is ext4
		require.Equal(t, name, fileSystemName(magic))
	}
}
