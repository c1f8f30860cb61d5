package publish

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlantedLinks: a link that the owner of the folder planted is not followed, whether
// for a file that is about to be replaced or for one that grows. A link that is opened as
// it is, the double, overwrites the file that it leads to.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	precious := filepath.Join(t.TempDir(), "precious")
	untouched := func() {
		t.Helper()
		b, err := os.ReadFile(precious)
		require.NoError(t, err)
		require.Equal(t, "precious", string(b))
		info, err := os.Stat(precious)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	root := t.TempDir()
	d, err := newDisk(root, nil)
	require.NoError(t, err)

	require.NoError(t, os.Symlink(precious, filepath.Join(root, "key.new")))
	require.NoError(t, d.replace("key", []byte("key")))
	untouched()
	require.NoError(t, os.Symlink(precious, filepath.Join(root, "tile.new")))
	require.NoError(t, d.write("tile", []byte("tile")))
	untouched()
	for name, want := range map[string]string{"key": "key", "tile": "tile"} {
		info, err := os.Lstat(filepath.Join(root, name))
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
		b, err := d.read(name)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}

	require.NoError(t, os.Symlink(precious, filepath.Join(root, "checkpoints")))
	require.ErrorContains(t, d.extend("checkpoints", []byte("more")), "not a regular file")
	require.ErrorContains(t, d.cut("checkpoints", 0), "not a regular file")
	untouched()

	f, err := os.OpenFile(filepath.Join(root, "checkpoints"), os.O_WRONLY|os.O_TRUNC, 0o644)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	b, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Empty(t, b, "the double")
}
