package publish

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

// logName is the file with the log's lines.
const logName = "log.jsonl"

// entries are the lines of a log, in one file and in bundles of 256 lines
// (c2sp.org/tlog-tiles).
type entries struct {
	disk *disk
	// isOpen means that the file was opened, because the lines are public. size is their
	// number.
	isOpen bool
	size   int64
	// block holds the lines after the last complete bundle.
	block [][]byte
}

// exist reports whether the log's file exists.
func (e *entries) exist() bool { return e.disk.has(logName) }

// open counts the lines of the file. It removes an incomplete line, and all lines after
// version most.
func (e *entries) open(most int64) error {
	e.isOpen, e.size, e.block = true, 0, nil
	f, err := e.disk.open(logName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	tail, at, err := tailOf(f, most)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	length := at
	for line := range bytes.Lines(tail) {
		v, whole := versionOf(line)
		if !whole || v > most {
			break
		}
		length += int64(len(line))
		if (v-1)%tileWidth == 0 {
			e.block = e.block[:0]
		}
		e.size, e.block = v, append(e.block, bytes.Clone(line))
	}
	if e.size%tileWidth == 0 {
		e.block = nil
	}
	if length == at+int64(len(tail)) {
		return nil
	}
	return e.disk.cut(logName, length)
}

// tailOf reads the end of the log: at least the bundle of version most, or of the last
// version if that is smaller. The tail begins at the offset at, with the first line of a
// bundle.
func tailOf(f *os.File, most int64) (tail []byte, at int64, err error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	for length := int64(1 << 16); ; length *= 2 {
		at = max(0, end-length)
		tail = make([]byte, end-at)
		if _, err := f.ReadAt(tail, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		if at == 0 {
			return tail, 0, nil
		}
		lines := tail[:bytes.LastIndexByte(tail, '\n')+1]
		last, whole := versionOf(lines[bytes.LastIndexByte(bytes.TrimSuffix(lines, []byte("\n")), '\n')+1:])
		if !whole {
			continue
		}
		first := (min(most, last)-1)/tileWidth*tileWidth + 1
		if i := bytes.Index(tail, fmt.Appendf(nil, "\n{\"v\":%d,", first)); i >= 0 {
			return tail[i+1:], at + int64(i) + 1, nil
		}
	}
}

// versionOf returns the version with which a line begins, 0 if it begins with none. whole
// reports whether the line is complete.
func versionOf(line []byte) (v int64, whole bool) {
	rest, is := bytes.CutPrefix(line, []byte(`{"v":`))
	digits, _, found := bytes.Cut(rest, []byte(","))
	if !is || !found {
		return 0, false
	}
	v, err := strconv.ParseInt(string(digits), 10, 64)
	return v, err == nil && bytes.HasSuffix(line, []byte("\n"))
}

// add appends lines after the existing ones. Complete bundles are written before the log,
// so that the length of the log shows the progress of both. A line shares memory with
// many others, so add copies the lines of the block, which stay in memory until the block
// is complete.
func (e *entries) add(lines [][]byte) error {
	for _, line := range lines {
		e.size++
		if e.block = append(e.block, line); len(e.block) == tileWidth {
			if err := e.bundle(); err != nil {
				return err
			}
			clear(e.block)
			e.block = e.block[:0]
		}
	}
	for i := max(0, len(e.block)-len(lines)); i < len(e.block); i++ {
		e.block[i] = bytes.Clone(e.block[i])
	}
	if err := e.disk.settle(); err != nil {
		return err
	}
	return e.disk.extend(logName, bytes.Join(lines, nil))
}

// bundle writes the bundle of the last lines. It leaves out a bundle with a line that is
// too long for the format; log.jsonl has that line.
func (e *entries) bundle() error {
	if len(e.block) == 0 {
		return nil
	}
	length := 2 * len(e.block)
	for _, line := range e.block {
		if len(line) > math.MaxUint16 {
			return nil
		}
		length += len(line)
	}
	b := make([]byte, 0, length)
	for _, line := range e.block {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(line))), line...)
	}
	tile := tlog.Tile{H: tileHeight, L: -1, N: (e.size - 1) / tileWidth, W: len(e.block)}
	if err := e.disk.write(tilePath(tile), b); err != nil {
		return err
	}
	if tile.W == tileWidth {
		e.disk.stale = append(e.disk.stale, e.disk.path(tilePath(tile)+".p"))
	}
	return nil
}
