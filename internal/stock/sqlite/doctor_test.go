package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnwritable: not even root can create a file there.
func TestUnwritable(t *testing.T) {
	require.Empty(t, unwritable(t.TempDir()))
	require.NotEmpty(t, unwritable(t.TempDir()+"/missing"))
}

// TestFileSystemsAreNamed: the numbers of statfs(2) that matter have a name.
func TestFileSystemsAreNamed(t *testing.T) {
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xfe534d42: "SMB", 0x65735546: "FUSE", 0xef53: ""} { // the last is ext4
		require.Equal(t, name, fileSystemName(magic))
	}
}
