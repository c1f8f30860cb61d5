package publish

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// disk is the folder of one pool. Everybody may read the files that it writes. No link
// leads out of the publisher's folder. Otherwise the owner of a web server's folder could
// direct a publisher to files of others.
type disk struct {
	root *os.Root // the publisher's folder
	dir  string   // the pool's folder, within root
	// names are the folders whose entries are not on the disk yet. fresh are the files whose
	// content is not on the disk yet. stale are the files to remove after all of that is on
	// the disk.
	names        map[string]bool
	fresh, stale []string
	// step, in tests, is called before and after each change of a file.
	step func()
}

func newDisk(root *os.Root, dir string, step func()) (*disk, error) {
	d := &disk{root: root, dir: dir, names: map[string]bool{}, step: step}
	return d, d.folder(dir)
}

// openRoot opens the publisher's folder. It creates the folder and its parents.
func openRoot(path string) (*os.Root, error) {
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

func makeFolder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // what is published is for everybody
		return err
	}
	return os.Chmod(path, 0o755) //nolint:gosec // whatever the umask
}

// path returns the path of a file in the publisher's folder.
func (d *disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// fullPath returns the path to show to people.
func (d *disk) fullPath(name string) string { return filepath.Join(d.root.Name(), d.path(name)) }

func (d *disk) at() {
	if d.step != nil {
		d.step()
	}
}

// folder creates a folder, and those above it.
func (d *disk) folder(path string) error {
	if _, err := d.root.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.folder(filepath.Dir(path)); err != nil {
		return err
	}
	d.names[filepath.Dir(path)] = true
	if err := d.root.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := d.root.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o755), f.Close()) // whatever the umask is
}

// write writes a file that nothing refers to yet. The file is on the disk only after
// settle, which waits for many files at once.
func (d *disk) write(name string, content []byte) error {
	if err := d.put(name, whole(content), func(*os.File) error { return nil }); err != nil {
		return err
	}
	d.fresh = append(d.fresh, d.path(name))
	return nil
}

// replace writes a file and renames it, so that no reader sees a half-written file. The
// new name is on the disk only after settle.
func (d *disk) replace(name string, content []byte) error { return d.replaceBy(name, whole(content)) }

// replaceBy is replace with a function that writes the content.
func (d *disk) replaceBy(name string, write func(io.Writer) error) error {
	return d.put(name, write, (*os.File).Sync)
}

// whole returns a function that writes content.
func whole(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// put creates a file, calls write and then end, and renames the file if both succeed.
func (d *disk) put(name string, write func(io.Writer) error, end func(*os.File) error) error {
	path := d.path(name)
	if err := d.folder(filepath.Dir(path)); err != nil {
		return err
	}
	d.at()
	f, err := d.createNew(path + ".new")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err := errors.Join(write(out), out.Flush(), f.Chmod(0o644), end(f), f.Close()); err != nil {
		return err
	}
	d.at()
	d.names[filepath.Dir(path)] = true
	return d.root.Rename(path+".new", path)
}

// createNew creates a file without following a link. It first removes an existing file.
func (d *disk) createNew(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := d.root.OpenFile(path, flags, 0o644)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if info, err := d.root.Lstat(path); err != nil || info.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("publish: %s is in the way", path))
	}
	if err := d.root.Remove(path); err != nil { // left by a publisher that was killed
		return nil, err
	}
	return d.root.OpenFile(path, flags, 0o644)
}

// checkOwn checks that a file may be changed in place: it does not exist, or it is a
// regular file and not a link.
func (d *disk) checkOwn(path string) error {
	info, err := d.root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return checkRegular(info, err, path)
}

// checkRegular checks that a file is regular.
func checkRegular(info fs.FileInfo, err error, path string) error {
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("publish: %s is not a regular file", path)
	}
	return err
}

// extend appends to a file; the content is on the disk when it returns.
func (d *disk) extend(name string, content []byte) error {
	path := d.path(name)
	if err := d.checkOwn(path); err != nil {
		return err
	}
	d.at()
	f, err := d.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	d.names[filepath.Dir(path)] = true
	half := 0
	if d.step != nil { // a kill may happen in the middle
		half = len(content) / 2
	}
	_, err = f.Write(content[:half])
	d.at()
	if err == nil {
		_, err = f.Write(content[half:])
	}
	return errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
}

// cut truncates a file to a length.
func (d *disk) cut(name string, length int64) error {
	if err := d.checkOwn(d.path(name)); err != nil {
		return err
	}
	f, err := d.root.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	d.at()
	return errors.Join(f.Truncate(length), f.Sync(), f.Close())
}

// syncsMax is the maximum number of files that are synced at once. A file system flushes
// concurrent syncs with one write of its journal; sequential syncs need one write each.
const syncsMax = 64

// settle returns when all files and names are on the disk.
func (d *disk) settle() error {
	for _, paths := range [][]string{d.fresh, slices.Collect(maps.Keys(d.names))} {
		var all errgroup.Group
		all.SetLimit(syncsMax)
		for _, path := range paths {
			all.Go(func() error {
				if err := d.flush(path); !d.names[path] || !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return nil // a removed folder has no entries to sync
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	d.fresh = d.fresh[:0]
	clear(d.names)
	d.at()
	for _, path := range d.stale {
		if err := d.root.RemoveAll(path); err != nil {
			return err
		}
	}
	d.stale = d.stale[:0]
	return nil
}

// giveUp drops files that were written and not settled. The next pass writes them again,
// or with other content. Files to be removed stay, because their replacement may not
// exist.
func (d *disk) giveUp() {
	d.fresh, d.stale = d.fresh[:0], d.stale[:0]
}

// flush returns when the content of a file or folder is on the disk.
func (d *disk) flush(path string) error {
	f, err := d.root.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// has reports whether a file of that name exists.
func (d *disk) has(name string) bool {
	_, err := d.root.Stat(d.path(name))
	return err == nil
}

// open opens a regular file: opening a FIFO would wait for its writer.
func (d *disk) open(name string) (*os.File, error) {
	info, err := d.root.Stat(d.path(name))
	if err := checkRegular(info, err, d.path(name)); err != nil {
		return nil, err
	}
	return d.root.Open(d.path(name))
}

// readWhole returns the content of a file. Error: fs.ErrNotExist.
func (d *disk) readWhole(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// read returns the content of a file, nil if it does not exist.
func (d *disk) read(name string) ([]byte, error) {
	b, err := d.readWhole(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
