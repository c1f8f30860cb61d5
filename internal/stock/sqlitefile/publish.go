package sqlitefile

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The journal modes that a header names.
const (
	journalRollback = 1
	journalWAL      = 2
)

// Seal makes a copy of a database, which is not open, an independent file: with an id
// that no WAL knows, and readable without a WAL.
func Seal(path string) error { return stamp(path, journalRollback) }

// Publish renames a file, which is not open, to path when it is on the disk, and never
// replaces an existing file. Both names are in one folder. Error: fs.ErrExist.
func Publish(part, path string) error {
	if err := Sync(part); err != nil {
		return err
	}
	if err := moveNew(part, path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Taken returns the first file that is in the way of a new database at path, including
// a WAL or a journal, which SQLite would use as its own; "" for none.
func Taken(path string) string {
	for _, suffix := range append([]string{""}, besides()...) {
		if _, err := os.Lstat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			return path + suffix
		}
	}
	return ""
}

// moveNew renames a file, unless the new name exists.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links, such as FAT.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	return os.Rename(from, to)
}

// stamp gives a file that is not open a new, even id, which no WAL knows, and a journal
// mode. It changes the bytes of the header, because SQLite would create a journal for
// it, beside a file that must not have its name yet.
func stamp(path string, journal byte) (err error) {
	h, err := readHeader(path)
	if err != nil {
		return err
	}
	if h == nil || !h.isDatabase() {
		return fmt.Errorf("%s is not an SQLite database", path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	binary.BigEndian.PutUint32(id[:], binary.BigEndian.Uint32(id[:])&^1)
	if _, err := file.WriteAt([]byte{journal, journal}, versionsAt); err != nil {
		return err
	}
	_, err = file.WriteAt(id[:], idAt)
	return err
}

// Sync returns when the content of a file, or the names in a folder, are on the disk.
func Sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
