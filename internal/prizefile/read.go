package prizefile

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
	// Header is the first line of a file.
	Header = "prize,name,value,stock"
	// columns is the number of its columns.
	columns = 4
	// lineMax is the longest line, in bytes: every field at its longest,
	// twice over.
	lineMax = 2048
	// bytesMax is the longest file; a million usual lines are a sixth of
	// it.
	bytesMax = 256 << 20
	// badLinesMax is how many bad lines are listed one by one.
	badLinesMax = 10
)

// Line is one prize of a file: its stock is what is to be added.
type Line struct {
	// Number is the line's, from 1, which is the header's.
	Number int
	Prize  draw.Prize
	// HasValue says that the line gave a value, be it 0.
	HasValue bool
}

// BadLines collects what is wrong with a file.
type BadLines struct {
	first []string
	count int
}

// Add notes what is wrong with a line.
func (b *BadLines) Add(number int, format string, args ...any) {
	if b.count < badLinesMax {
		b.first = append(b.first, fmt.Sprintf("line %d: %s", number, fmt.Sprintf(format, args...)))
	}
	b.count++
}

// Err is nil when there was no bad line, else CodeInvalidRequest.
func (b *BadLines) Err() error {
	if b.count == 0 {
		return nil
	}
	text := strings.Join(b.first, "; ")
	if more := b.count - len(b.first); more > 0 {
		text += fmt.Sprintf("; and %d more bad lines", more)
	}
	return draw.Errorf(draw.CodeInvalidRequest, "%s; nothing was imported", text)
}

// Read reads and checks a whole file, as far as that goes without
// the pool. A field may be quoted but holds no line break, so that a line is a
// record and its number is where the editor shows it. Error:
// CodeInvalidRequest, or that of the reader.
func Read(file io.Reader) ([]Line, error) {
	file = &io.LimitedReader{R: file, N: bytesMax + 1}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, lineMax), lineMax+len("\r\n"))
	var lines []Line
	var bad BadLines
	number, seen := 0, map[string]int{}
	for scanner.Scan() {
		number++
		text := scanner.Bytes()
		if number == 1 {
			if text = bytes.TrimPrefix(text, []byte("\uFEFF")); string(text) != Header {
				bad.Add(number, "must be the header %s", Header)
				return nil, bad.Err()
			}
			continue
		}
		if number > draw.PrizesMax+1 {
			bad.Add(number, "is more than the %d lines that a file may have", draw.PrizesMax)
			return nil, bad.Err()
		}
		if len(text) == 0 {
			continue
		}
		line, err := parseLine(number, text)
		if err != nil {
			bad.Add(number, "%s", detailOf(err))
			continue
		}
		if earlier, twice := seen[line.Prize.ID]; twice {
			bad.Add(number, "prize id %q is on line %d already", line.Prize.ID, earlier)
			continue
		}
		seen[line.Prize.ID] = number
		lines = append(lines, line)
	}
	if err := checkEnd(scanner.Err(), number, file.(*io.LimitedReader).N, &bad); err != nil {
		return nil, err
	}
	return lines, bad.Err()
}

// checkEnd judges why the reading ended after so many lines with rest bytes
// still allowed.
func checkEnd(err error, number int, rest int64, bad *BadLines) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		bad.Add(number+1, "is longer than %d bytes", lineMax)
	case err != nil:
		return fmt.Errorf("line %d: %w", number+1, err)
	case rest == 0:
		bad.Add(number, "is beyond the %d MiB that a file may have", bytesMax>>20)
	case number == 0:
		bad.Add(1, "must be the header %s", Header)
	}
	return nil
}

func parseLine(number int, text []byte) (line Line, err error) {
	switch {
	case !utf8.Valid(text):
		return line, errors.New("is not valid UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return line, errors.New("holds a NUL byte")
	}
	fields, err := splitLine(string(text))
	if err != nil {
		return line, err
	}
	if len(fields) != columns {
		return line, fmt.Errorf("has %d columns instead of %d", len(fields), columns)
	}
	line = Line{Number: number, Prize: draw.Prize{ID: fields[0], Name: fields[1]}, HasValue: fields[2] != ""}
	if line.Prize.Value, err = draw.ParseValue(fields[2]); err != nil {
		return line, err
	}
	if line.Prize.Stocked, err = parseStock(fields[3]); err != nil {
		return line, err
	}
	checked := line.Prize
	if checked.Name == "" {
		checked.Name = checked.ID // a prize that is there need not be named again
	}
	return line, checked.Check()
}

// splitLine splits a line into its fields, which may be quoted as
// RFC 4180 has it.
func splitLine(text string) ([]string, error) {
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

func parseStock(field string) (int64, error) {
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
