package proof

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"drawsvc/internal/draw"
)

const (
	// NoteMax is the maximum size of a small file of a folder, and of a signed note, in
	// bytes.
	NoteMax = 1 << 20
	// quoteMax is the maximum number of bytes of a file that a finding repeats.
	quoteMax = 100
	// detailMax is the maximum size of the detail of a finding, in bytes. The detail
	// consists of repeated text, the finding's own words, and identifiers that were checked.
	detailMax = 400
)

// open opens a file of the folder. It must be a regular file, because a device may have
// no end, and opening a FIFO waits for its writer. A link to another file of the folder
// is allowed.
func (v *verifier) open(name string) (fs.File, error) {
	info, err := fs.Stat(v.files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil && isLink(v.files, name):
		return nil, findf(0, RuleFile, "%s is a link that leaves the folder", name)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, findf(0, RuleFile, "%s is not a regular file", name)
	}
	return v.files.Open(name)
}

// isLink reports whether a file is a symbolic link.
func isLink(files fs.FS, name string) bool {
	info, err := fs.Lstat(files, name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// readOptional reads a small file of the folder. If the file is missing, the error is
// fs.ErrNotExist.
func (v *verifier) readOptional(name string) ([]byte, error) {
	f, err := v.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, NoteMax+1))
	if err == nil && len(b) > NoteMax {
		return nil, findf(0, RuleFile, "%s is longer than %d bytes", name, NoteMax)
	}
	return b, err
}

// read reads a small file that the folder must have.
func (v *verifier) read(name string) ([]byte, error) {
	b, err := v.readOptional(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, findf(0, RuleFile, "there is no file %s", name)
	}
	return b, err
}

// cut shortens a text to a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// errQuoted returns CodeInvalidRequest for a text of a file. The error contains only the
// beginning of the text.
func errQuoted(text, why string) error {
	return draw.Errorf(draw.CodeInvalidRequest, "%q %s", cut(text, quoteMax), why)
}
