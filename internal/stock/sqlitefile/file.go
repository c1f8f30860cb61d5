package sqlitefile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// The suffixes of the files that SQLite and this package keep beside a database file.
const (
	walSuffix  = "-wal"
	lockSuffix = ".lock"
)

// besides returns the suffixes of SQLite's files that belong to one state of the
// database.
func besides() []string { return []string{walSuffix, "-shm", "-journal"} }

// ErrInUse means that another process has locked the file.
var ErrInUse = errors.New("the database file is in use by another process: stop it first")

// File is a database file that this process has locked exclusively. Its methods may be
// called from any goroutine, unless their comment names the only allowed caller.
type File struct {
	path string
	lock *flock.Flock
	// database and wal are the open files, nil before Opened. They are only read. They
	// are closed after everything else, because closing the database file drops SQLite's
	// own locks.
	database, wal         *os.File
	databaseInfo, walInfo os.FileInfo
	// base is the header that the database file keeps until the next turn.
	base header
}

// Path returns the path of the database file, without links.
func (f *File) Path() string { return f.path }

// Lock locks the file at path, which need not exist yet, exclusively for this process. It
// also completes a replacement that was interrupted. The lock is on a separate file
// beside the database, because closing any descriptor of the database file would drop
// SQLite's own locks. That separate file must not be a link. Errors: [ErrInUse], and
// those of files.
func Lock(path string) (*File, error) {
	f := &File{path: realPath(path)}
	f.lock = flock.New(f.path+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow))
	locked, err := f.lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, ErrInUse
	}
	if err := errors.Join(inheritOwner(f.path, f.path+lockSuffix), f.finish()); err != nil {
		return nil, errors.Join(err, f.lock.Unlock())
	}
	return f, nil
}

// realPath follows links, so that a file with several names has only one lock.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Opened records that the database is open and that its WAL has begun a generation. From
// then on f detects that the files were replaced. During the call nobody else may use f.
func (f *File) Opened() (err error) {
	if f.database, err = os.Open(f.path); err != nil {
		return err
	}
	if f.wal, err = os.Open(f.path + walSuffix); err != nil {
		return err
	}
	if f.databaseInfo, err = f.database.Stat(); err != nil {
		return err
	}
	if f.walInfo, err = f.wal.Stat(); err != nil {
		return err
	}
	if err := f.Turned(); err != nil {
		return err
	}
	return f.write(noteOpen)
}

// Turned records that the WAL was copied to the file. The caller must be the only writer.
func (f *File) Turned() error {
	if f.database == nil {
		return nil
	}
	_, err := f.database.ReadAt(f.base[:], 0)
	return err
}

// Moved returns nil as long as the open file is the file at its path. It takes a
// microsecond.
func (f *File) Moved() error { return isAt(f.path, f.databaseInfo) }

// Writable returns nil as long as the open file and WAL are the files at their paths. The
// file's header must also be the one after the last turn, or one that its WAL contains.
// Only the writer may call it.
func (f *File) Writable() error {
	if f.database == nil {
		return nil
	}
	if err := errors.Join(f.Moved(), isAt(f.path+walSuffix, f.walInfo)); err != nil {
		return err
	}
	var now header
	if _, err := f.database.ReadAt(now[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if now == f.base {
		return nil
	}
	// Another program, for example a backup tool, may have copied the WAL to the file.
	// That can be recognized only if this process began the generation.
	generation, err := readGeneration(f.path + walSuffix)
	if err != nil {
		return err
	}
	if generation != nil && generation.isOurs() && !generation.isOf(&now) {
		return fmt.Errorf("%s was overwritten while it was open", f.path)
	}
	f.base = now
	return nil
}

// isAt returns nil if no file is opened, or if the opened file is the one at path.
func isAt(path string, opened os.FileInfo) error {
	if opened == nil {
		return nil
	}
	switch is, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was removed while it was open", path)
	case err != nil:
		return err
	//double:trusts-files !os.SameFile(is, opened) => false && !os.SameFile(is, opened)
	case !os.SameFile(is, opened):
		return fmt.Errorf("%s was replaced by another file while it was open", path)
	}
	return nil
}

// Holds reports whether the current generation has at least n frames.
func (f *File) Holds(n int64) bool {
	all, ok, err := openFrames(f.wal)
	if err != nil || !ok {
		return false
	}
	_, ok, err = all.at(n - 1)
	return err == nil && ok
}

// Damaged records, for the next start, that the file was found to be damaged.
func (f *File) Damaged() error { return f.write(noteDamaged) }

// Close releases the file, after all connections to it are closed. If asIs is set, it
// records the header of the closed file, so that the next start recognizes the file. No
// method may be called after it.
func (f *File) Close(asIs bool) error {
	var errs []error
	for _, open := range []*os.File{f.database, f.wal} {
		if open != nil {
			errs = append(errs, open.Close())
		}
	}
	if asIs {
		errs = append(errs, f.noteClosed())
	}
	errs = append(errs, f.removePart(), f.lock.Unlock())
	return errors.Join(errs...)
}

func (f *File) noteClosed() error {
	file, err := readHeader(f.path)
	if err != nil || file == nil {
		return err
	}
	if wal, err := readGeneration(f.path + walSuffix); err != nil || wal != nil {
		return err // the WAL is still there because another process reads the file; it identifies the file
	}
	return f.write(noteClosed(file))
}

// The notes are one line each, the content of the lock's file. If the note is lost, the
// database file is in doubt.
const (
	noteOpen    = "open\n"
	noteDamaged = "damaged\n"
)

func noteClosed(file *header) string { return "closed " + hex.EncodeToString(file[:]) + "\n" }

func readNote(path string) (string, error) {
	note, err := os.ReadFile(path + lockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(note), err
}

func (f *File) write(note string) error {
	return os.WriteFile(f.path+lockSuffix, []byte(note), 0o600)
}

// HasWAL reports whether the database at path has a WAL with content. If so, opening
// the database for writing would change it even without a write.
func HasWAL(path string) bool {
	info, err := os.Stat(realPath(path) + walSuffix)
	return err == nil && info.Size() > 0
}

// Interrupted reports whether a replacement of the file at path was interrupted and must
// be completed.
func Interrupted(path string) bool {
	_, err := os.Lstat(realPath(path) + readySuffix)
	return err == nil
}
