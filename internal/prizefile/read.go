package prizefile

import (
	"bufio"
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
	// bytesMax is the maximum size of a file; a million usual lines take a sixth of it.
	bytesMax = 256 << 20
	// badLinesMax is how many bad lines are listed. A file is read only up to the last
	// of them.
	badLinesMax = 10
	// fieldMax is how much of a field an error message repeats, in bytes.
	fieldMax = 40
)

// Line is one prize of a file: its stock is what is to be added.
type Line struct {
	// Number is the line's number; the header is line 1.
	Number int
	Prize  draw.Prize
	// HasValue means that the line gave a value, even 0.
	HasValue bool
	// HasKind means that the line gave a kind.
	HasKind bool
}

// BadLines collects the errors of a file, until it is full.
type BadLines struct{ list []string }

// Add adds the error of a line.
func (b *BadLines) Add(number int, format string, args ...any) {
	if !b.IsFull() {
		b.list = append(b.list, fmt.Sprintf("line %d: %s", number, fmt.Sprintf(format, args...)))
	}
}

// IsFull reports whether there are so many bad lines that the others need not be read.
func (b *BadLines) IsFull() bool { return len(b.list) == badLinesMax }

// Err returns nil if there was no bad line, otherwise CodeInvalidRequest.
func (b *BadLines) Err() error {
	if len(b.list) == 0 {
		return nil
	}
	text := strings.Join(b.list, "; ")
	if b.IsFull() {
		text += "; the lines after that were not read"
	}
	return draw.Errorf(draw.CodeInvalidRequest, "%s; nothing was imported", text)
}

// Read reads and checks a whole file, as far as is possible without the pool. admit is
// called with each good line; an error of it ends Read. Errors: CodeInvalidRequest, and
// those of admit and of the reader.
func Read(file io.Reader, admit func(*Line) error) ([]Line, error) {
	f := reading{seen: map[string]int{}, admit: admit}
	if err := readRows(file, &f.bad, f.row); err != nil {
		return nil, err
	}
	if f.refused != nil {
		return nil, f.refused
	}
	if f.columns == nil && f.bad.Err() == nil {
		f.bad.Add(1, "must be the header %s", Header)
	}
	return f.lines, f.bad.Err()
}

// readRows calls row with the line number and the fields of each row of a file that is
// not blank, until it returns false or bad is full. What is not CSV, or too long,
// becomes a bad line. Error: that of the reader.
func readRows(file io.Reader, bad *BadLines, row func(line int, fields []string) (goOn bool)) error {
	limited := &io.LimitedReader{R: file, N: bytesMax + 1}
	buffered := bufio.NewReader(limited)
	separator, err := begin(buffered)
	if err != nil {
		return err
	}
	rows := csv.NewReader(buffered)
	rows.Comma, rows.FieldsPerRecord, rows.TrimLeadingSpace = separator, -1, true
	line := 0
	for !bad.IsFull() {
		fields, err := rows.Read()
		if err == io.EOF {
			break
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			bad.Add(broken.StartLine, "has a quote that is not closed, or that stands inside a field; write a quote within quotes twice")
			continue
		}
		if err != nil {
			return fmt.Errorf("after line %d: %w", line, err)
		}
		line, _ = rows.FieldPos(0)
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if !isBlank(fields) && !row(line, fields) { // spreadsheets write rows that contain only separators
			return nil
		}
	}
	if limited.N == 0 {
		bad.Add(line, "is beyond the %d MiB that a file may have", bytesMax>>20)
	}
	return nil
}

// reading is a file that is being parsed into lines.
type reading struct {
	columns columns // nil until the header is read
	seen    map[string]int
	lines   []Line
	bad     BadLines
	// admit is that of Read, refused its error.
	admit   func(*Line) error
	refused error
}

// row reads one row. It returns false if nothing after the row can be read.
func (f *reading) row(number int, fields []string) (goOn bool) {
	var err error
	if f.columns == nil {
		if f.columns, err = readHeader(fields); err != nil {
			f.bad.Add(number, "%s", err)
		}
		return err == nil
	}
	if len(f.lines)+len(f.bad.list) >= draw.PrizesMax {
		f.bad.Add(number, "is more than the %d prizes that a file may have", draw.PrizesMax)
		return false
	}
	line, err := f.columns.line(number, fields)
	if err != nil {
		f.bad.Add(number, "%s", draw.DetailOf(err))
		return true
	}
	if earlier, twice := f.seen[line.Prize.ID]; twice {
		f.bad.Add(number, "prize id %q is on line %d already", line.Prize.ID, earlier)
		return true
	}
	if f.refused = f.admit(&line); f.refused != nil {
		return false
	}
	f.seen[line.Prize.ID] = number
	f.lines = append(f.lines, line)
	return true
}

func isBlank(fields []string) bool {
	for _, field := range fields {
		if field != "" {
			return false
		}
	}
	return true
}

// line reads the fields of one prize.
func (c columns) line(number int, fields []string) (line Line, err error) {
	if len(fields) < c.count() || !isBlank(fields[c.count():]) {
		return line, fmt.Errorf("has %d columns instead of %d; quote a field that holds the separator", len(fields), c.count())
	}
	for _, field := range fields {
		switch {
		case !utf8.ValidString(field):
			return line, errors.New("is not UTF-8 text, but perhaps Windows-1252; save the file as CSV UTF-8")
		case strings.ContainsRune(field, 0):
			return line, errors.New("holds a NUL byte; save the file as CSV UTF-8")
		}
	}
	value, stock := c.of(fields, "value"), c.of(fields, "stock")
	line = Line{Number: number, Prize: draw.Prize{ID: c.of(fields, "prize"), Name: c.of(fields, "name")}, HasValue: value != ""}
	switch kind := draw.Kind(c.of(fields, "kind")); kind {
	case "":
	case draw.KindPrize, draw.KindBlank:
		line.Prize.Kind, line.HasKind = kind, true
	default:
		return line, fmt.Errorf("kind must be prize, blank or empty, not %s", clipped(string(kind)))
	}
	if line.Prize.Value, err = draw.ParseValue(value); err != nil {
		return line, fmt.Errorf("%s, with a point before the cents and no other mark, not %s", draw.DetailOf(err), clipped(value))
	}
	if stock == "" && line.Prize.Kind == draw.KindBlank {
		line.Prize.Stocked = draw.EndlessStock
	} else if line.Prize.Stocked, err = parseStock(stock); err != nil {
		return line, err
	}
	checked := line.Prize
	if checked.Name == "" {
		checked.Name = checked.ID // a prize that exists need not be named again
	}
	return line, checked.Check()
}

func parseStock(field string) (int64, error) {
	stock, err := strconv.ParseInt(field, 10, 64)
	if err != nil || stock < 0 || stock > draw.StockMax || field[0] == '+' {
		return 0, fmt.Errorf("stock must be a whole number from 0 to %d, in digits alone, not %s", draw.StockMax, clipped(field))
	}
	return stock, nil
}

// clipped quotes at most fieldMax bytes of a field.
func clipped(field string) string {
	if len(field) > fieldMax {
		field = strings.ToValidUTF8(field[:fieldMax], "") + "…"
	}
	return strconv.Quote(field)
}
