//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnFilesAreRegular: a file outside the folder that a verification reads must be
// regular and finite; otherwise the command fails at once. The broken double,
// os.ReadFile, would wait, or read forever.
func TestOwnFilesAreRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, syscall.Mkfifo(path("fifo"), 0o600))
	require.NoError(t, os.WriteFile(path("sparse"), nil, 0o600))
	require.NoError(t, os.Truncate(path("sparse"), 8<<30))
	require.NoError(t, os.WriteFile(path("kept"), []byte("kept\n"), 0o600))
	for name, want := range map[string]string{"fifo": "not a regular file", ".": "not a regular file", "sparse": "longer than 256 MiB"} {
		_, err := readOwnFile(path(name))
		require.ErrorContains(t, err, want)
	}
	_, err := readOwnFile("/dev/zero")
	require.ErrorContains(t, err, "not a regular file")
	b, err := readOwnFile(path("kept"))
	require.NoError(t, err)
	require.Equal(t, "kept\n", string(b))
	for _, args := range [][]string{{"--kept", path("fifo"), dir}, {"--receipts", "/dev/zero", dir}} {
		o := verifyFiles{}
		if args[0] == "--kept" {
			o.kept = args[1:2]
		} else {
			o.receipts = args[1]
		}
		_, err := o.read()
		require.ErrorContains(t, err, "not a regular file")
	}
}
