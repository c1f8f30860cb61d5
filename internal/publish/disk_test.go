package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
)

// diskOf returns the folder of the pool spring in a publisher's folder.
func diskOf(tb testing.TB, dir string, step func()) *disk {
	tb.Helper()
	root, err := openRoot(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = root.Close() })
	d, err := newDisk(root, "spring", step)
	require.NoError(tb, err)
	return d
}

// TestPlantedLinks: if the folder's owner plants a link, the publisher does not follow it
// when it replaces or extends a file. The broken double opens the link without a check,
// and overwrites its target.
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
	dir := t.TempDir()
	d := diskOf(t, dir, nil)
	root := filepath.Join(dir, "spring")

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

// elsewhere is a folder with one file, outside the publisher's folder.
type elsewhere struct {
	t    *testing.T
	path string
}

func newElsewhere(t *testing.T) elsewhere {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "0", "000.p"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(path, "0", "000.p", "precious"), []byte("precious"), 0o600))
	return elsewhere{t, path}
}

// isUntouched reports whether the folder is unchanged.
func (e elsewhere) isUntouched() bool {
	e.t.Helper()
	var found []string
	require.NoError(e.t, filepath.WalkDir(e.path, func(path string, d os.DirEntry, err error) error {
		info, statErr := d.Info()
		require.NoError(e.t, statErr)
		name, relErr := filepath.Rel(e.path, path)
		require.NoError(e.t, relErr)
		found = append(found, fmt.Sprint(name, " ", info.Mode()))
		return err
	}))
	content, err := os.ReadFile(filepath.Join(e.path, "0", "000.p", "precious"))
	return err == nil && string(content) == "precious" &&
		slices.Equal([]string{". drwx------", "0 drwx------", "0/000.p drwx------", "0/000.p/precious -rw-------"}, found)
}

// TestPlantedFolderLinks: a link in the place of a folder is not followed out of the
// publisher's folder. The link exists before, has no target, or appears between two
// steps. TestPlantedTopLinks has the broken double, which uses plain paths.
func TestPlantedFolderLinks(t *testing.T) {
	t.Parallel()
	// Each act needs the folder tile, which the test replaces by a link.
	acts := map[string]func(*disk) error{
		"write":   func(d *disk) error { return d.write("tile/0/001", []byte("tile")) },
		"deep":    func(d *disk) error { return d.write("tile/1/x001/000", []byte("tile")) },
		"replace": func(d *disk) error { return d.replace("tile/key", []byte("key")) },
		"extend":  func(d *disk) error { return d.extend("tile/log", []byte("more")) },
		"cut":     func(d *disk) error { return d.cut("tile/0/000.p/precious", 0) },
		"read": func(d *disk) error {
			b, err := d.read("tile/0/000.p/precious")
			if err == nil && b != nil {
				return nil
			}
			return errors.Join(err, fs.ErrNotExist)
		},
		"tiles": func(d *disk) error {
			_, err := tileFiles{d}.ReadTiles([]tlog.Tile{{H: tileHeight, N: 0, W: 1}})
			return err
		},
		"remove": func(d *disk) error {
			d.stale = append(d.stale, d.path("tile/0/000.p"))
			return d.settle()
		},
	}
	for name, act := range acts {
		for _, planted := range []string{"before", "dangling", "in between", "late"} {
			t.Run(name+" "+planted, func(t *testing.T) {
				out, root := newElsewhere(t), t.TempDir()
				target := out.path
				if planted == "dangling" {
					target = filepath.Join(out.path, "none")
				}
				link := filepath.Join(root, "spring", "tile")
				steps := 0
				d := diskOf(t, root, func() {
					if steps++; planted == "in between" && steps == 1 || planted == "late" && steps == 2 {
						require.NoError(t, os.Rename(link, link+".was"))
						require.NoError(t, os.Symlink(target, link))
					}
				})
				if planted == "before" || planted == "dangling" {
					require.NoError(t, os.Symlink(target, link))
				} else {
					require.NoError(t, os.MkdirAll(filepath.Join(link, "0", "000.p"), 0o700))
				}
				err := act(d)
				require.True(t, out.isUntouched())
				if planted == "before" || name == "read" {
					require.Error(t, err)
				}
			})
		}
	}
}

// TestPlantedTopLinks: a link in the place of a pool's folder or of the lock is refused.
func TestPlantedTopLinks(t *testing.T) {
	t.Parallel()
	out, dir := newElsewhere(t), t.TempDir()
	require.NoError(t, os.Symlink(out.path, filepath.Join(dir, "spring")))
	root, err := openRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = newDisk(root, "spring", nil)
	require.Error(t, err)
	require.NoError(t, os.Symlink(filepath.Join(out.path, "none"), filepath.Join(dir, ".lock")))
	_, err = New(Options{Dir: dir})
	require.Error(t, err)
	require.True(t, out.isUntouched())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "spring", "key"), nil, 0o600))
	require.False(t, out.isUntouched(), "the double: a plain path")
	require.NoError(t, os.Remove(filepath.Join(out.path, "key")))
	require.True(t, out.isUntouched())
	lock := flock.New(filepath.Join(dir, ".lock"))
	_, err = lock.TryLock()
	require.NoError(t, err)
	require.NoError(t, lock.Unlock())
	require.False(t, out.isUntouched(), "the double: a lock that makes its file")
}

func TestPublisherReadsRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := diskOf(t, dir, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "spring", "key"), 0o600))
	_, err := d.read("key")
	require.ErrorContains(t, err, "not a regular file")
}
