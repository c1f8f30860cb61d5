package sqlitefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A replacement is written to a file beside the database. It takes effect when that
// file is complete and renamed to end with readySuffix. If the process is interrupted
// after that, the next process that locks the database completes the replacement.
// Before the rename, the old database is unchanged.
const (
	partSuffix  = "-restore-part"
	readySuffix = "-restore-ready"
)

// Part creates an empty file, only for its owner, and returns its path: the content of
// that file will replace the database.
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

// Replace replaces the database by the file at Part. It takes effect as a whole or not
// at all, also if the process or the machine dies.
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

// finishing returns the steps from a complete file at readySuffix to the database.
func (f *File) finishing() []func() error {
	return []func() error{
		func() error { return Sync(filepath.Dir(f.path)) },
		func() error { return removeAll(f.path, besides()...) },
		func() error { return Sync(filepath.Dir(f.path)) }, // otherwise the new file could meet the old WAL after a loss of power
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

// finish completes a replacement that had taken effect before it was interrupted, and
// removes the rest of any other.
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

// inheritMode gives a file the permissions of the database, if that exists.
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

// removeAll removes the files whose names are path and one of the suffixes.
func removeAll(path string, suffixes ...string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
