package prizefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"drawsvc/internal/draw"
)

// headMax is the number of bytes of a file in which its separator is searched.
const headMax = 1024

// text decodes the rows of a file. It reads UTF-8 until a row is not UTF-8. Then it reads
// Windows-1252, in which Excel saves CSV by default in western languages. A file that
// contains both is damaged, and refused.
type text struct {
	encoding draw.Encoding
	// firstLine is the first line with a letter beyond ASCII, 0 for none yet.
	firstLine int
	// isMarked means that a byte order mark states the encoding.
	isMarked bool
}

// open reads the byte order mark, if any, and sets the encoding. It returns the file
// after the mark. UTF-16 becomes UTF-8.
func (t *text) open(file io.Reader) (*bufio.Reader, error) {
	const mark = "\uFEFF"
	buffered := bufio.NewReader(file)
	head, err := buffered.Peek(len(mark))
	if err != nil && err != io.EOF {
		return nil, err
	}
	t.encoding = draw.EncodingUTF8
	switch {
	case bytes.HasPrefix(head, []byte(mark)):
		t.isMarked = true
		_, _ = buffered.Discard(len(mark)) // it is in the buffer
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		t.isMarked, t.encoding = true, draw.EncodingUTF16
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		buffered = bufio.NewReader(decoder.Reader(buffered))
	}
	return buffered, nil
}

// findSeparator returns the separator of a file's header: a semicolon or a tab if the
// header has one and no comma, otherwise a comma.
func findSeparator(file *bufio.Reader) (rune, error) {
	head, err := file.Peek(headMax)
	if err != nil && err != io.EOF {
		return 0, err
	}
	header, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	for _, separator := range []byte{';', '\t'} {
		if bytes.IndexByte(header, separator) >= 0 && bytes.IndexByte(header, ',') < 0 {
			return rune(separator), nil
		}
	}
	return ',', nil
}

// decode converts the fields of a row to UTF-8. Its error states what is wrong with the
// row.
func (t *text) decode(line int, fields []string) error {
	row := strings.Join(fields, "\n")
	isUTF8 := utf8.ValidString(row)
	switch {
	case strings.ContainsRune(row, 0):
		return errors.New("holds a NUL byte; save the file as CSV UTF-8")
	case isUTF8 && strings.ContainsRune(row, utf8.RuneError):
		return errors.New("holds U+FFFD, which stands for a letter that was lost; save the original file as CSV UTF-8")
	case isASCII(row):
		return nil
	case isUTF8 && t.encoding == draw.EncodingWindows1252:
		return fmt.Errorf("is UTF-8 text, and line %d is not; save the file as CSV UTF-8", t.firstLine)
	case isUTF8:
		t.note(line)
		return nil
	case t.isMarked:
		return errors.New("is not UTF-8 text, although the file begins as such; save the file as CSV UTF-8")
	case t.encoding == draw.EncodingUTF8 && t.firstLine > 0:
		return fmt.Errorf("is not UTF-8 text, and line %d is; save the file as CSV UTF-8", t.firstLine)
	}
	for i, field := range fields {
		decoded, err := charmap.Windows1252.NewDecoder().String(field)
		if err != nil || strings.ContainsFunc(decoded, isUndefined) {
			return errors.New("is neither UTF-8 nor Windows-1252 text; save the file as CSV UTF-8")
		}
		fields[i] = decoded
	}
	t.encoding = draw.EncodingWindows1252
	t.note(line)
	return nil
}

// note stores the line, if it is the first that decides the encoding.
func (t *text) note(line int) {
	if t.firstLine == 0 {
		t.firstLine = line
	}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// isUndefined reports whether a decoded character stands for one of the five bytes that
// Windows-1252 does not define.
func isUndefined(r rune) bool { return r == utf8.RuneError || r >= 0x80 && r < 0xA0 }
