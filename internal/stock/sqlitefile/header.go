package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
)

// headerSize is the size of the header, at the beginning of page 1. See
// https://www.sqlite.org/fileformat.html for its members.
const headerSize = 100

// The offsets of members of the header.
const (
	versionsAt = 18 // two bytes: 1 for a rollback journal, 2 for a WAL
	changesAt  = 24 // counts changes of page 1; 4 bytes
	idAt       = 60 // user_version; 4 bytes
	writtenAt  = 92 // the count of changes again, and the library that wrote it; 8 bytes
)

// header is the beginning of a database file.
type header [headerSize]byte

func (h *header) id() uint32 { return binary.BigEndian.Uint32(h[idAt:]) }

// follows reports whether h differs from base only in the id, which is one higher.
func (h *header) follows(base *header) bool {
	return h.id() == base.id()+1 && h.withoutID() == base.withoutID()
}

// withoutID returns h without the bytes that every change of the id changes.
func (h *header) withoutID() header {
	rest := *h
	clear(rest[changesAt : changesAt+4])
	clear(rest[idAt : idAt+4])
	clear(rest[writtenAt : writtenAt+8])
	return rest
}

// readHeader reads the header of a file. It returns nil for a missing or an empty file,
// and fills up a shorter file with zeros.
func readHeader(path string) (*header, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // was only read
	var h header
	switch _, err := io.ReadFull(file, h[:]); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	}
	return &h, nil
}

// magic is the beginning of a database file.
const magic = "SQLite format 3\x00"

// isDatabase reports whether h is the header of a database file.
func (h *header) isDatabase() bool { return bytes.HasPrefix(h[:], []byte(magic)) }
