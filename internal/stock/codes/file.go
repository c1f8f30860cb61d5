package codes

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"drawsvc/internal/draw"
)

// line is a code of a file. No error repeats its text.
type line struct {
	number int
	code   []byte
	// repeats is the number of the line that has the same code before, 0 for none.
	repeats int
}

const (
	// bytesMax is the longest file.
	bytesMax = 256 << 20
	// badLinesMax is how many bad lines are named.
	badLinesMax = 10
)

// badLines collects what is wrong with a file: the first lines, and how many more.
type badLines struct {
	named []string
	more  int
}

func (b *badLines) add(number int, what string) {
	if len(b.named) < badLinesMax {
		b.named = append(b.named, fmt.Sprintf("line %d: %s", number, what))
		return
	}
	b.more++
}

// err is nil where no line is bad, else CodeInvalidRequest.
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

// readFile reads and checks a whole file, as far as that goes without the database.
// Where skip is false, a code that is there twice is a bad line. Errors:
// CodeInvalidRequest, and those of the reader.
func readFile(file io.Reader, skip bool) ([]line, error) {
	text, err := io.ReadAll(io.LimitReader(file, bytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > bytesMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the file is longer than %d MiB; nothing was imported", bytesMax>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	lines := make([]line, 0, bytes.Count(text, []byte("\n"))+1)
	seen := make(map[string]int, cap(lines))
	var bad badLines
	for number := 1; len(text) > 0; number++ {
		var code []byte
		code, text, _ = bytes.Cut(text, []byte("\n"))
		code = bytes.TrimSuffix(code, []byte("\r"))
		if number == 1 && string(code) == "code" {
			continue
		}
		if what := faultOf(code); what != "" {
			bad.add(number, what)
			continue
		}
		l := line{number: number, code: code, repeats: seen[string(code)]}
		if l.repeats == 0 {
			seen[string(code)] = number
		} else if !skip {
			bad.add(number, fmt.Sprintf("the same as line %d", l.repeats))
		}
		lines = append(lines, l)
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the file has no code; nothing was imported")
	}
	return lines, nil
}

// faultOf is what is wrong with a code, "" for nothing.
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
