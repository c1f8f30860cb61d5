package publish

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strconv"

	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/proof"
)

// The files of signed checkpoints: the last one, and all of them.
const (
	latestName = "checkpoint"
	allName    = "checkpoints"
)

// notes are the checkpoints of a folder.
type notes struct {
	disk   *disk
	origin string
	key    note.Verifier
}

// signed is a checkpoint as a file contains it.
type signed struct {
	proof.Checkpoint
	text string
	note []byte
}

// parse opens a note. Error: CodeInvalidRequest.
func (n *notes) parse(b []byte) (*signed, error) {
	text, err := proof.Open(b, n.key)
	if err != nil {
		return nil, err
	}
	c, err := proof.ParseCheckpoint(text)
	if err != nil {
		return nil, err
	}
	return &signed{*c, text, b}, nil
}

// noteMax is more than the maximum length of a checkpoint's note.
const noteMax = 1 << 16

// recover returns the last checkpoint, nil if there is none. It removes an incomplete
// checkpoint, because no reader can have used it.
func (n *notes) recover() (*signed, error) {
	f, err := n.disk.open(allName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is what nil says
	}
	if err != nil {
		return nil, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	at := max(0, end-2*noteMax)
	tail := make([]byte, end-at)
	if err == nil {
		_, err = io.ReadFull(io.NewSectionReader(f, at, end-at), tail)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	for length := len(tail); length > 0; {
		begin := n.lastBegin(tail[:length])
		if begin < 0 {
			break
		}
		if last, err := n.parse(bytes.Clone(tail[begin:length])); err == nil {
			if at+int64(length) < end {
				err = n.disk.cut(allName, at+int64(length))
			}
			return last, err
		}
		length = max(0, begin-1) // the empty line between two notes
	}
	if at > 0 {
		return nil, errors.New(n.disk.fullPath(allName) + " is damaged: its end holds no checkpoint")
	}
	return nil, n.disk.cut(allName, 0)
}

// lastBegin returns where the last note begins, -1 if none does.
func (n *notes) lastBegin(b []byte) int {
	begin := []byte("\n\n" + n.origin + "\n")
	if i := bytes.LastIndex(b, begin); i >= 0 {
		return i + 2
	}
	if bytes.HasPrefix(b, begin[2:]) {
		return 0
	}
	return -1
}

// add appends a checkpoint, and makes it the latest one.
func (n *notes) add(note []byte, isFirst bool) error {
	b := note
	if !isFirst {
		b = append([]byte("\n"), b...)
	}
	if err := n.disk.extend(allName, b); err != nil {
		return err
	}
	return n.settleLatest(note)
}

// settleLatest waits until all checkpoints are on the disk, and then makes the last one
// the latest.
func (n *notes) settleLatest(note []byte) error {
	if err := n.disk.settle(); err != nil {
		return err
	}
	latest, err := n.disk.read(latestName)
	if err != nil || bytes.Equal(latest, note) {
		return err
	}
	if err := n.disk.replace(latestName, note); err != nil {
		return err
	}
	return n.disk.settle()
}

// each calls fn with each note, until fn returns false.
func (n *notes) each(fn func(note []byte) (more bool)) error {
	f, err := n.disk.open(allName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return err
	}
	for one, err := range proof.SplitNotes(f) {
		if err != nil || !fn(bytes.Clone(one)) {
			return err
		}
	}
	return nil
}

// amend writes all checkpoints again, with new signatures. lines are these signatures, by
// the sizes of the checkpoints.
func (n *notes) amend(lines map[int64]string) error {
	var last []byte
	err := n.disk.replaceBy(allName, func(w io.Writer) error {
		var failed error
		err := n.each(func(one []byte) bool {
			gap := "\n"
			if last == nil {
				gap = ""
			}
			one = append(one, lines[sizeOf(one)]...)
			last = one
			_, failed = io.WriteString(w, gap+string(one))
			return failed == nil
		})
		return errors.Join(err, failed)
	})
	if err != nil {
		return err
	}
	return n.settleLatest(last)
}

// sizeOf returns the size in a note, 0 for none.
func sizeOf(note []byte) int64 {
	_, rest, _ := bytes.Cut(note, []byte("\n"))
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	size, _ := strconv.ParseInt(string(digits), 10, 64) // no note has size 0
	return size
}
