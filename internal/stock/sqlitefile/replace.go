package sqlitefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A replacement is written to a file beside the database. It takes effect when that file
// is complete and gets the suffix readySuffix by a rename. If the process is interrupted
// after the rename, the next process that locks the database completes the replacement.
// Before the rename, the old database is unchanged.
const (
	partSuffix  = "-restore-part"
	readySuffix = "-restore-ready"
)

// Part creates an empty file that only its owner can use, and returns its path. The
// content of that file will replace the database.
func (f *File) Part() (string, error) {
	if err := f.removePart(); err != nil {
		return "", err
	}
	part, err := os.OpenFile(f.path+partSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return f.path + partSuffix, part.Close()
}

func (f *File) removePart() error { return removeAll(f.path+partSuffix, append(besides(), "")...) }

// Replace replaces the database by the file at Part. It takes effect completely or not at
// all, even if the process or the machine fails.
func (f *File) Replace() error {
	for _, step := range f.replacement() {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// replacement returns the steps of Replace, in order.
func (f *File) replacement() []func() error {
	return append([]func() error{
		func() error { return stamp(f.path+partSuffix, journalWAL) },
		func() error { return inheritMode(f.path, f.path+partSuffix) },
		func() error { return inheritOwner(f.path, f.path+partSuffix) },
		func() error { return Sync(f.path + partSuffix) },
		func() error { return os.Rename(f.path+partSuffix, f.path+readySuffix) },
	}, f.finishing()...)
}

// finishing returns the steps that make the complete file at readySuffix the database.
func (f *File) finishing() []func() error {
	return []func() error{
		func() error { return Sync(filepath.Dir(f.path)) },
		func() error { return removeAll(f.path, besides()...) },
		func() error { return Sync(filepath.Dir(f.path)) }, // otherwise a loss of power could leave the new file beside the old WAL
		func() error {
			file, err := readHeader(f.path + readySuffix)
			if err != nil {
				return err
			}
			if file == nil {
				return errors.New(f.path + readySuffix + " is empty")
			}
			return f.write(noteClosed(file))
		},
		func() error { return os.Rename(f.path+readySuffix, f.path) },
		func() error { return Sync(filepath.Dir(f.path)) },
	}
}

// finish completes a replacement that was interrupted after it took effect, and removes
// the files of one that was interrupted before.
func (f *File) finish() error {
	if _, err := os.Lstat(f.path + readySuffix); errors.Is(err, fs.ErrNotExist) {
		return f.removePart()
	} else if err != nil {
		return err
	}
	for _, step := range f.finishing() {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// inheritMode gives a file the permissions of the database, if the database exists.
func inheritMode(database, file string) error {
	like, err := os.Stat(database)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(file, like.Mode().Perm())
}

// removeAll removes the files whose names are path with one of the suffixes.
func removeAll(path string, suffixes ...string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
