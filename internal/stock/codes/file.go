package codes

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"unicode/utf8"

	"drawsvc/internal/draw"
)

// codeFile is a file of codes, possibly millions. A line takes few bytes besides its
// text, and 4 to 8 more if it is the first with its code.
type codeFile struct {
	text  []byte
	lines []line
	// first finds the first line with a code. It is a hash table of line indexes plus
	// one; 0 marks an empty slot. It grows with the number of different codes, which may
	// be as high as the number of lines.
	first []int32
	seed  maphash.Seed
	// distinct is the number of different codes in the table.
	distinct int
}

// line is a code of a file. No error repeats its text.
type line struct {
	// from and length are the position of the code in the file's text.
	from   int32
	length int16
	// number is the line's number in its file. repeats is the number of an earlier line
	// with the same code, 0 if there is none.
	number, repeats int32
}

// code returns the code of a line.
func (f *codeFile) code(l *line) []byte { return f.text[l.from:][:l.length] }

// findFirst returns the first line that has the code of a line. If no earlier line has
// that code, it records the line in the table and returns it.
func (f *codeFile) findFirst(index int32) *line {
	if 2*f.distinct >= len(f.first) {
		f.grow()
	}
	code := f.code(&f.lines[index])
	mask := uint64(len(f.first)) - 1
	for at := maphash.Bytes(f.seed, code) & mask; ; at = (at + 1) & mask {
		known := f.first[at]
		if known == 0 {
			f.first[at] = index + 1
			f.distinct++
			return &f.lines[index]
		}
		if l := &f.lines[known-1]; bytes.Equal(f.code(l), code) {
			return l
		}
	}
}

// firstMin is the smallest size of the table, a power of two.
const firstMin = 1 << 10

func (f *codeFile) grow() {
	before := f.first
	f.first, f.distinct = make([]int32, max(firstMin, 2*len(before))), 0
	for _, known := range before {
		if known != 0 {
			f.findFirst(known - 1)
		}
	}
}

const (
	// bytesMax is the maximum size of a file.
	bytesMax = 256 << 20
	// badLinesMax is the maximum number of bad lines that an error names.
	badLinesMax = 10
)

// badLines collects the faults of a file: the first bad lines, and the number of the
// others.
type badLines struct {
	named []string
	more  int
}

func (b *badLines) add(number int32, what string) {
	if len(b.named) < badLinesMax {
		b.named = append(b.named, fmt.Sprintf("line %d: %s", number, what))
		return
	}
	b.more++
}

// err returns nil if no line is bad, otherwise CodeInvalidRequest.
func (b *badLines) err() error {
	if len(b.named) == 0 {
		return nil
	}
	text := strings.Join(b.named, "; ")
	if b.more > 0 {
		text += fmt.Sprintf("; and %d more", b.more)
	}
	return draw.Errorf(draw.CodeInvalidRequest, "%s; nothing was imported", text)
}

// readFile reads a whole file and makes all checks that need no database. Unless skip is
// set, a repeated code makes its line bad. Errors: CodeInvalidRequest, and those of the
// reader.
func readFile(file io.Reader, skip bool) (*codeFile, error) {
	text, err := io.ReadAll(io.LimitReader(file, bytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > bytesMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the file is longer than %d MiB; nothing was imported", bytesMax>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f := &codeFile{text: text, lines: make([]line, 0, bytes.Count(text, []byte("\n"))+1), seed: maphash.MakeSeed()}
	var bad badLines
	for number := int32(1); len(text) > 0; number++ {
		var code []byte
		from := int32(len(f.text) - len(text)) //nolint:gosec // at most bytesMax
		code, text, _ = bytes.Cut(text, []byte("\n"))
		code = bytes.TrimSuffix(code, []byte("\r"))
		isHeader, isEmptyEnd := number == 1 && string(code) == "code", len(code)+len(text) == 0
		if isHeader || isEmptyEnd {
			continue
		}
		if what := faultOf(code); what != "" {
			bad.add(number, what)
			continue
		}
		index := int32(len(f.lines))                                                          //nolint:gosec // at most bytesMax
		f.lines = append(f.lines, line{from: from, length: int16(len(code)), number: number}) //nolint:gosec // at most draw.CodeMax
		if first := f.findFirst(index); first.number != number {
			f.lines[index].repeats = first.number
			if !skip {
				bad.add(number, fmt.Sprintf("the same as line %d", first.number))
			}
		}
	}
	f.first = nil
	if err := bad.err(); err != nil {
		return nil, err
	}
	if len(f.lines) == 0 {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the file has no code; nothing was imported")
	}
	return f, nil
}

// faultOf returns what is wrong with a code, "" for nothing.
func faultOf(code []byte) string {
	switch {
	case len(code) == 0:
		return "empty"
	case !utf8.Valid(code):
		return "not UTF-8"
	case bytes.IndexFunc(code, func(r rune) bool { return r < ' ' || r > '~' }) >= 0:
		return "a character that is not printable ASCII"
	case bytes.IndexByte(code, ',') >= 0:
		return "a comma; give one column"
	case bytes.IndexByte(code, ';') >= 0:
		return "a semicolon; give one column"
	case bytes.ContainsAny(code, `"'`):
		return "a quote; give the code without quotes"
	case len(code) > draw.CodeMax:
		return fmt.Sprintf("longer than %d characters", draw.CodeMax)
	case code[0] == ' ' || code[len(code)-1] == ' ':
		return "a blank at an end"
	}
	return ""
}
