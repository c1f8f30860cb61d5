package sqlitefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A replacement is made in a file beside the database, and takes effect when
// that file is whole and gets the name that ends with readySuffix. Whatever
// happens then, the next process that locks the database finishes it. Until
// then, the old database is untouched.
const (
	partSuffix  = "-restore-part"
	readySuffix = "-restore-ready"
)

// Part makes an empty file, for its owner alone, and returns its path: what is
// written there is to replace the database.
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

// Replace puts the file at Part in the place of the database. It takes effect
// as a whole or not at all, also when the process or the machine dies.
func (f *File) Replace() error {
	for _, step := range f.replacement() {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// replacement are the steps of Replace, in their order.
func (f *File) replacement() []func() error {
	return append([]func() error{
		func() error { return stamp(f.path+partSuffix, journalWAL) },
		func() error { return inheritMode(f.path, f.path+partSuffix) },
		func() error { return inheritOwner(f.path, f.path+partSuffix) },
		func() error { return Sync(f.path + partSuffix) },
		func() error { return os.Rename(f.path+partSuffix, f.path+readySuffix) },
	}, f.finishing()...)
}

// finishing are the steps from a whole file at readySuffix to the database.
func (f *File) finishing() []func() error {
	return []func() error{
		func() error { return Sync(filepath.Dir(f.path)) },
		func() error { return removeAll(f.path, besides()...) },
		func() error { return Sync(filepath.Dir(f.path)) }, // or the new file meets the old WAL after a loss of power
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

// finish ends a replacement that was interrupted: one that had taken effect is
// done, of another nothing is left.
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

// inheritMode gives a file the permissions of the database, where that is there.
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
