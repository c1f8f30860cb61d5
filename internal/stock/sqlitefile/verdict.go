package sqlitefile

import "fmt"

// Verdict is the state of a database's files before the database is opened.
type Verdict int

// The verdicts.
const (
	// New means that there is no database yet.
	New Verdict = iota
	// Sound means that the file is unchanged since it was closed, or that the WAL belongs
	// to it.
	Sound
	// Doubtful means that the files may be a mixture of two states. The rows must be
	// examined.
	Doubtful
	// Foreign means that the WAL belongs to another file, or to another state of it.
	Foreign
)

// Inspect reads the database file at path and the WAL beside it. It returns their state
// and, unless they are sound, the reason. No process that writes may have them open.
func Inspect(path string) (v Verdict, reason string, err error) {
	path = realPath(path)
	file, err := readHeader(path)
	if err != nil {
		return 0, "", err
	}
	wal, err := readGeneration(path + walSuffix)
	if err != nil {
		return 0, "", err
	}
	note, err := readNote(path)
	if err != nil {
		return 0, "", err
	}
	v, reason = judge(file, wal, note, path)
	return v, reason, nil
}

func judge(file *header, wal *generation, note, path string) (Verdict, string) {
	switch {
	case file == nil && wal == nil:
		return New, ""
	case file == nil:
		return Foreign, fmt.Sprintf("there is no database file %s, but its write-ahead log %s%s is there", path, path, walSuffix)
	case wal != nil && wal.isOurs() && !wal.isOf(file):
		return Foreign, fmt.Sprintf("the write-ahead log %s%s does not belong to the database file %s: "+
			"one of them was copied here, and together they would be a mixture of two states", path, walSuffix, path)
	case note == noteDamaged:
		return Doubtful, "it was found to be damaged"
	case wal != nil && wal.isOurs(), wal == nil && note == noteClosed(file):
		return Sound, ""
	case wal == nil:
		return Doubtful, "it is not the file that was closed here last"
	default:
		return Doubtful, "its write-ahead log was not begun by this service"
	}
}
