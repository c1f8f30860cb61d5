package prizefile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// bytesMax is the maximum size of a file; a million usual lines take a sixth of it.
	bytesMax = 256 << 20
	// fieldMax is the maximum length of a field in an error message, in bytes.
	fieldMax = 40
)

// table is a file that is being read, row by row.
type table struct {
	// header is the first line, as errors show it. known are the columns, and optional is
	// the number of columns at their end that may be missing.
	header   string
	known    []column
	optional int

	text      text
	separator rune
	columns   *columns // nil until the header is read
	bad       BadLines
}

// of returns the field of a column, "" if the file does not have the column.
func (t *table) of(fields []string, name string) string { return t.columns.of(fields, name) }

// hasDecimalComma reports whether amounts may have a comma before the cents. In most
// countries, spreadsheets write such commas, and separate the fields by another
// character.
func (t *table) hasDecimalComma() bool { return t.separator != ',' }

// read reads the header of a file. Then it calls row with the line number and the fields
// of each later row that is not blank. It stops if row returns false, or after too many
// bad lines. A wrong header becomes a bad line, and so does a text that is not CSV, not
// text, or too long. Error: that of the reader.
func (t *table) read(file io.Reader, row func(line int, fields []string) (goOn bool)) error {
	limited := &io.LimitedReader{R: file, N: bytesMax + 1}
	buffered, err := t.text.open(limited)
	if err == nil {
		t.separator, err = findSeparator(buffered)
	}
	if err != nil {
		return err
	}
	rows := csv.NewReader(buffered)
	rows.Comma, rows.FieldsPerRecord, rows.TrimLeadingSpace = t.separator, -1, true
	line := 0
	for !t.bad.IsFull() {
		fields, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			t.bad.Add(broken.StartLine, "has a quote that is not closed, or that stands inside a field; write a quote within quotes twice")
			continue
		}
		if err != nil {
			return fmt.Errorf("after line %d: %w", line, err)
		}
		line, _ = rows.FieldPos(0)
		if err := t.text.decode(line, fields); err != nil {
			t.bad.Add(line, "%s", err)
			continue
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if isBlank(fields) { // spreadsheets write rows that contain only separators
			continue
		}
		if t.columns == nil {
			if t.columns, err = readHeader(t.header, t.known, t.optional, fields); err != nil {
				t.bad.Add(line, "%s", err)
				return nil
			}
			continue
		}
		if !row(line, fields) {
			return nil
		}
	}
	if limited.N == 0 {
		t.bad.Add(line, "is beyond the %d MiB that a file may have", bytesMax>>20)
	}
	if t.columns == nil && t.bad.Err() == nil {
		t.bad.Add(1, "must be the header %s", t.header)
	}
	return nil
}

func isBlank(fields []string) bool {
	for _, field := range fields {
		if field != "" {
			return false
		}
	}
	return true
}

// clipped quotes at most fieldMax bytes of a field.
func clipped(field string) string {
	if len(field) > fieldMax {
		field = strings.ToValidUTF8(field[:fieldMax], "") + "…"
	}
	return strconv.Quote(field)
}
