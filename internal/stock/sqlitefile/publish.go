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

// The journal modes that a header can name.
const (
	journalRollback = 1
	journalWAL      = 2
)

// Seal turns a closed copy of a database into an independent file. The file is readable
// without a WAL, and has an id that no WAL contains.
func Seal(path string) error { return stamp(path, journalRollback) }

// Publish flushes a closed file to the disk, renames it to path, and never replaces an
// existing file. Both names are in one folder. Error: fs.ErrExist.
func Publish(part, path string) error {
	if err := Sync(part); err != nil {
		return err
	}
	if err := moveNew(part, path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Taken returns the first existing file that prevents a new database at path, "" for
// none. A WAL or a journal also prevents it, because SQLite would apply it to the new
// database.
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
	// For a file system without hard links, such as FAT.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	return os.Rename(from, to)
}

// stamp gives a closed file a journal mode and a new, even id, which no WAL contains. It
// changes the bytes of the header directly. SQLite would create a journal beside the
// file, while the file does not have its final name yet.
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
