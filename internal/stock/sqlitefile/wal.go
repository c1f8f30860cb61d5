package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
)

// The sizes of the WAL's parts. See https://www.sqlite.org/fileformat.html.
const (
	walHeaderSize   = 32
	frameHeaderSize = 24
)

// frames reads the frames of a WAL's current generation: the frames that have the salts
// of the WAL's header. Frames left over from an earlier generation have other salts.
type frames struct {
	file *os.File
	salt [8]byte
	// size is the size of a frame.
	size int64
}

// openFrames reads the WAL's header. ok is false if the header is incomplete; then
// SQLite finds no frames either.
func openFrames(file *os.File) (f frames, ok bool, err error) {
	var head [walHeaderSize]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return f, false, ignoreEOF(err)
	}
	f = frames{file: file, size: frameHeaderSize + int64(binary.BigEndian.Uint32(head[8:]))}
	copy(f.salt[:], head[16:])
	return f, binary.BigEndian.Uint32(head[0:])&^1 == 0x377f0682, nil
}

// frame is the header of one frame: which page it contains, and whether a transaction
// ends with it.
type frame struct {
	page    uint32
	commits bool
}

// at reads frame n, counted from 0. ok is false if the generation has fewer frames.
func (f frames) at(n int64) (fr frame, ok bool, err error) {
	var head [frameHeaderSize]byte
	if _, err := f.file.ReadAt(head[:], walHeaderSize+n*f.size); err != nil {
		return fr, false, ignoreEOF(err)
	}
	fr = frame{page: binary.BigEndian.Uint32(head[0:]), commits: binary.BigEndian.Uint32(head[4:]) > 0}
	return fr, bytes.Equal(head[8:16], f.salt[:]), nil
}

// header reads the database's header from frame n, which must contain page 1.
func (f frames) header(n int64) (h header, err error) {
	_, err = f.file.ReadAt(h[:], walHeaderSize+n*f.size+frameHeaderSize)
	return h, ignoreEOF(err)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// generation holds the headers that a WAL's generation contains.
type generation struct {
	// first is the header in the first frame, if that frame is a transaction of its own.
	first *header
	// headers are the headers in all frames.
	headers []header
}

// readGeneration reads the WAL at path; it returns nil if the WAL has no frame.
func readGeneration(path string) (*generation, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // was only read
	all, ok, err := openFrames(file)
	if err != nil || !ok {
		return nil, err
	}
	var g *generation
	for n := int64(0); ; n++ {
		fr, ok, err := all.at(n)
		if err != nil || !ok {
			return g, err
		}
		if g == nil {
			g = &generation{}
		}
		if fr.page != 1 {
			continue
		}
		h, err := all.header(n)
		if err != nil {
			return nil, err
		}
		g.headers = append(g.headers, h)
		if n == 0 && fr.commits {
			g.first = &g.headers[0]
		}
	}
}

// isOurs reports whether the service began the generation.
func (g *generation) isOurs() bool { return g.first != nil && g.first.id()%2 == 1 }

// isOf reports whether a file with this header is the generation's base, possibly with
// pages of the generation. Call it only if isOurs returns true.
func (g *generation) isOf(file *header) bool {
	if g.first.follows(file) {
		return true
	}
	for i := range g.headers {
		if g.headers[i] == *file {
			return true
		}
	}
	return false
}
