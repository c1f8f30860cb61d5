package stock

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"drawsvc/internal/draw"
)

const (
	// ImportHeader is the first line of an import.
	ImportHeader = "prize,name,value,stock"
	// importColumns is the number of its columns.
	importColumns = 4
	// importLineMax is the longest line, in bytes: every field at its longest,
	// twice over.
	importLineMax = 2048
	// importBytesMax is the longest file; a million usual lines are a sixth of
	// it.
	importBytesMax = 256 << 20
	// badLinesMax is how many bad lines are listed one by one.
	badLinesMax = 10
)

// importLine is one prize of an import: its stock is what is to be added.
type importLine struct {
	number int
	prize  draw.Prize
	// hasValue says that the line gave a value, be it 0.
	hasValue bool
}

// badLines collects what is wrong with an import.
type badLines struct {
	first []string
	count int
}

func (b *badLines) add(number int, format string, args ...any) {
	if b.count < badLinesMax {
		b.first = append(b.first, fmt.Sprintf("line %d: %s", number, fmt.Sprintf(format, args...)))
	}
	b.count++
}

// err is nil when there was no bad line, else CodeInvalidRequest.
func (b *badLines) err() error {
	if b.count == 0 {
		return nil
	}
	text := strings.Join(b.first, "; ")
	if more := b.count - len(b.first); more > 0 {
		text += fmt.Sprintf("; and %d more bad lines", more)
	}
	return draw.Errorf(draw.CodeInvalidRequest, "%s; nothing was imported", text)
}

// readImport reads and checks a whole import file, as far as that goes without
// the pool. A field may be quoted but holds no line break, so that a line is a
// record and its number is where the editor shows it. Error:
// CodeInvalidRequest, or that of the reader.
func readImport(file io.Reader) ([]importLine, error) {
	file = &io.LimitedReader{R: file, N: importBytesMax + 1}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, importLineMax), importLineMax+len("\r\n"))
	var lines []importLine
	var bad badLines
	number, seen := 0, map[string]int{}
	for scanner.Scan() {
		number++
		text := scanner.Bytes()
		if number == 1 {
			if text = bytes.TrimPrefix(text, []byte("\uFEFF")); string(text) != ImportHeader {
				bad.add(number, "must be the header %s", ImportHeader)
				return nil, bad.err()
			}
			continue
		}
		if number > draw.PrizesMax+1 {
			bad.add(number, "is more than the %d lines that a file may have", draw.PrizesMax)
			return nil, bad.err()
		}
		if len(text) == 0 {
			continue
		}
		line, err := parseImportLine(number, text)
		if err != nil {
			bad.add(number, "%s", detailOf(err))
			continue
		}
		if earlier, twice := seen[line.prize.ID]; twice {
			bad.add(number, "prize id %q is on line %d already", line.prize.ID, earlier)
			continue
		}
		seen[line.prize.ID] = number
		lines = append(lines, line)
	}
	if err := importEnd(scanner.Err(), number, file.(*io.LimitedReader).N, &bad); err != nil {
		return nil, err
	}
	return lines, bad.err()
}

// importEnd judges why the reading ended after so many lines with rest bytes
// still allowed.
func importEnd(err error, number int, rest int64, bad *badLines) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		bad.add(number+1, "is longer than %d bytes", importLineMax)
	case err != nil:
		return fmt.Errorf("line %d: %w", number+1, err)
	case rest == 0:
		bad.add(number, "is beyond the %d MiB that a file may have", importBytesMax>>20)
	case number == 0:
		bad.add(1, "must be the header %s", ImportHeader)
	}
	return nil
}

func parseImportLine(number int, text []byte) (line importLine, err error) {
	switch {
	case !utf8.Valid(text):
		return line, errors.New("is not valid UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return line, errors.New("holds a NUL byte")
	}
	fields, err := splitImportLine(string(text))
	if err != nil {
		return line, err
	}
	if len(fields) != importColumns {
		return line, fmt.Errorf("has %d columns instead of %d", len(fields), importColumns)
	}
	line = importLine{number: number, prize: draw.Prize{ID: fields[0], Name: fields[1]}, hasValue: fields[2] != ""}
	if line.prize.Value, err = draw.ParseValue(fields[2]); err != nil {
		return line, err
	}
	if line.prize.Stocked, err = parseImportStock(fields[3]); err != nil {
		return line, err
	}
	checked := line.prize
	if checked.Name == "" {
		checked.Name = checked.ID // a prize that is there need not be named again
	}
	return line, checked.Check()
}

// splitImportLine splits a line into its fields, which may be quoted as
// RFC 4180 has it.
func splitImportLine(text string) ([]string, error) {
	if !strings.Contains(text, `"`) {
		return strings.Split(text, ","), nil
	}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1 // they are counted by the caller
	fields, err := r.Read()
	if err != nil {
		return nil, errors.New("has a quote that is not closed on the line, or that stands inside a field")
	}
	return fields, nil
}

func parseImportStock(field string) (int64, error) {
	stock, err := strconv.ParseInt(field, 10, 64)
	if err != nil || stock < 0 || stock > draw.StockMax || field[0] == '+' {
		return 0, fmt.Errorf("stock must be a whole number from 0 to %d", draw.StockMax)
	}
	return stock, nil
}

// detailOf is what an error of a check says, without its code.
func detailOf(err error) string {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e.Detail
	}
	return err.Error()
}
