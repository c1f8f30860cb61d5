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

// TestUnwritableFolderIsReported: not even root makes a file there.
func TestUnwritableFolderIsReported(t *testing.T) {
	require.Empty(t, unwritable(t.TempDir()))
	require.NotEmpty(t, unwritable(t.TempDir()+"/missing"))
}

// TestUnwritableFileIsReported: the doctor reports a file on a file system that is
// mounted read-only, like a file of an account without the right to write.
func TestUnwritableFileIsReported(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // is checked nowhere else
	}
	disk := servertest.NewSmallDisk(t, t.TempDir(), 1<<20)
	path := filepath.Join(disk.Dir, "draws.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.Empty(t, unwritableFile(path))
	require.NoError(t, exec.Command("mount", "-o", "remount,ro", disk.Dir).Run())
	require.Equal(t, "read-only file system", unwritableFile(path))
}

// TestFileSystemsAreNamed: the numbers of statfs(2) that matter have a name.
func TestFileSystemsAreNamed(t *testing.T) {
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xfe534d42: "SMB", 0x65735546: "FUSE", 0xef53: ""} { // the last is ext4
		require.Equal(t, name, fileSystemName(magic))
	}
}
