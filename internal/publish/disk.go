package publish

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// disk is the folder of one pool. What it writes is for everybody.
type disk struct {
	root string
	// names are the folders whose names are not on the disk yet, fresh the open files
	// whose content is not, and stale what goes once they are.
	names map[string]bool
	fresh []*os.File
	stale []string
	// unsettled says that files were written since all was on the disk. Of those,
	// fresh has no longer those that were flushed.
	unsettled bool
	// step, in tests, is called before and after whatever changes a file.
	step func()
}

func newDisk(root string, step func()) (*disk, error) {
	d := &disk{root: root, names: map[string]bool{}, step: step}
	return d, d.folder(root)
}

func (d *disk) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d *disk) at() {
	if d.step != nil {
		d.step()
	}
}

// folder makes a folder, and those above it.
func (d *disk) folder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := d.folder(filepath.Dir(path)); err != nil {
		return err
	}
	d.names[filepath.Dir(path)] = true
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // what is published is for everybody
		return err
	}
	return os.Chmod(path, 0o755) //nolint:gosec // whatever the umask
}

// write writes a file that nothing refers to yet. It is on the disk after settle;
// the wait is for up to syncsMax files at once. Until then it may be half of one, as after a kill: then
// the next writes it again, by a rename, as somebody may read it by that time.
func (d *disk) write(name string, content []byte) error {
	path := d.path(name)
	if err := d.folder(filepath.Dir(path)); err != nil {
		return err
	}
	d.at()
	d.unsettled = true
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // what is published is for everybody
	if errors.Is(err, fs.ErrExist) {
		return d.replace(name, content)
	}
	if err != nil {
		return err
	}
	d.names[filepath.Dir(path)] = true
	d.fresh = append(d.fresh, f)
	if err = errors.Join(d.writeHalves(f, content), f.Chmod(0o644)); err == nil && len(d.fresh) == syncsMax {
		err = d.flush()
	}
	return err
}

// replace writes a file by a rename: it is never half of one. Its name is on the
// disk after settle.
func (d *disk) replace(name string, content []byte) error {
	return d.replaceBy(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// replaceBy is replace with what write writes.
func (d *disk) replaceBy(name string, write func(io.Writer) error) error {
	path := d.path(name)
	if err := d.folder(filepath.Dir(path)); err != nil {
		return err
	}
	d.at()
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // what is published is for everybody
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err := errors.Join(write(out), out.Flush(), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	d.at()
	d.names[filepath.Dir(path)] = true
	return os.Rename(path+".new", path)
}

// extend appends to a file, which is on the disk then.
func (d *disk) extend(name string, content []byte) error {
	path := d.path(name)
	d.at()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644) //nolint:gosec // what is published is for everybody
	if err != nil {
		return err
	}
	d.names[filepath.Dir(path)] = true
	return errors.Join(d.writeHalves(f, content), f.Chmod(0o644), f.Sync(), f.Close())
}

// writeHalves writes a content. In tests a kill may come in the middle.
func (d *disk) writeHalves(f *os.File, content []byte) error {
	half := 0
	if d.step != nil {
		half = len(content) / 2
	}
	_, err := f.Write(content[:half])
	d.at()
	if err == nil {
		_, err = f.Write(content[half:])
	}
	return err
}

// cut cuts a file to a length.
func (d *disk) cut(name string, length int64) error {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	d.at()
	return errors.Join(f.Truncate(length), f.Sync(), f.Close())
}

// syncsMax is how many files wait for the disk at once: a file system flushes those
// that wait together by one turn of its journal, where each alone costs one.
const syncsMax = 64

// flush returns when the content of the files is on the disk.
func (d *disk) flush() error {
	var all errgroup.Group
	for _, f := range d.fresh {
		all.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	}
	clear(d.fresh)
	d.fresh = d.fresh[:0]
	return all.Wait()
}

// settle returns when all files and names are on the disk.
func (d *disk) settle() error {
	if err := d.flush(); err != nil {
		return err
	}
	for path := range d.names {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder that was removed has no names
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	clear(d.names)
	d.at()
	for _, path := range d.stale {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	d.stale, d.unsettled = d.stale[:0], false
	return nil
}

// giveUp gives up what was written and not settled: the next pass writes it again,
// or something else. What was to go stays, since what it was to make place for may
// not be there. It says whether there was anything.
func (d *disk) giveUp() bool {
	for _, f := range d.fresh {
		_ = f.Close() // what it holds does not matter any more
	}
	found := d.unsettled
	clear(d.fresh)
	d.fresh, d.stale, d.unsettled = d.fresh[:0], d.stale[:0], false
	return found
}

// read returns a file, nil where there is none.
func (d *disk) read(name string) ([]byte, error) {
	b, err := os.ReadFile(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
