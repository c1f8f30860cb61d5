package prizefile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
)

// Line is one prize of a file; its stock is the number of units to add.
type Line struct {
	// Number is the line's number; the header is line 1.
	Number int
	Prize  draw.Prize
	// HasValue means that the line gave a value, even 0.
	HasValue bool
	// HasKind means that the line gave a kind.
	HasKind bool
}

// File is a file of prizes that was read.
type File struct {
	// Lines are the good lines.
	Lines    []Line
	Encoding draw.Encoding
	// Bad has the errors of all other lines. A caller who knows the pool can add to them.
	Bad BadLines
}

// Read reads a whole file, and checks it as far as that is possible without the pool. It
// calls admit with each good line. An error of admit or of the reader ends Read, which
// returns it; errors in the file are in [File.Bad].
func Read(file io.Reader, admit func(*Line) error) (*File, error) {
	f := reading{table: table{header: Header, known: prizeColumns(), optional: 1}, seen: map[string]int{}, admit: admit}
	if err := f.read(file, f.row); err != nil {
		return nil, err
	}
	if f.refused != nil {
		return nil, f.refused
	}
	return &File{f.lines, f.text.encoding, f.bad}, nil
}

// reading is a file that is being parsed into lines.
type reading struct {
	table
	seen  map[string]int
	lines []Line
	// admit is Read's parameter, refused the error that it returned.
	admit   func(*Line) error
	refused error
}

// row reads one row. It returns false if no further row is to be read.
func (f *reading) row(number int, fields []string) (goOn bool) {
	if len(f.lines)+len(f.bad.list) >= draw.PrizesMax {
		f.bad.Add(number, "is more than the %d prizes that a file may have", draw.PrizesMax)
		return false
	}
	line, errs := f.line(number, fields)
	if earlier, twice := f.seen[line.Prize.ID]; twice {
		errs = append(errs, fmt.Errorf("prize id %q is on line %d already", line.Prize.ID, earlier))
	} else if line.Prize.ID != "" {
		f.seen[line.Prize.ID] = number
	}
	for _, err := range errs {
		f.bad.Add(number, "%s", draw.DetailOf(err))
	}
	if len(errs) > 0 {
		return true
	}
	if f.refused = f.admit(&line); f.refused != nil {
		return false
	}
	f.lines = append(f.lines, line)
	return true
}

// line reads the fields of one prize, and returns all errors in them.
func (f *reading) line(number int, fields []string) (line Line, errs []error) {
	if err := f.columns.check(fields); err != nil {
		return line, []error{err}
	}
	var err error
	value, stock, kind := f.of(fields, "value"), f.of(fields, "stock"), f.of(fields, "kind")
	line = Line{Number: number, Prize: draw.Prize{ID: f.of(fields, "prize"), Name: f.of(fields, "name")}, HasValue: value != ""}
	switch draw.Kind(kind) {
	case "":
	case draw.KindPrize, draw.KindBlank:
		line.Prize.Kind, line.HasKind = draw.Kind(kind), true
	default:
		errs = append(errs, fmt.Errorf("kind must be prize, blank or empty, not %s", clipped(kind)))
	}
	if line.Prize.Value, err = f.value(value); err != nil {
		errs = append(errs, err)
	}
	if stock == "" && line.Prize.Kind == draw.KindBlank {
		line.Prize.Stocked = draw.EndlessStock
	} else if line.Prize.Stocked, err = parseStock(stock); err != nil {
		errs = append(errs, err)
	} else if err := line.Prize.CheckFinite(line.Prize.Stocked); err != nil {
		errs = append(errs, err)
	}
	checked := line.Prize
	if checked.Name == "" {
		checked.Name = checked.ID // a prize that exists need not be named again
	}
	if err := checked.Check(); err != nil {
		errs = append(errs, err)
	}
	return line, errs
}

// value reads an amount. The cents may follow a comma if commas do not separate the
// fields.
func (f *reading) value(field string) (value decimal.Decimal, err error) {
	marks, text := "a point", field
	if f.hasDecimalComma() {
		marks = "a comma or a point"
		if !strings.Contains(field, ".") {
			text = strings.Replace(field, ",", ".", 1)
		}
	}
	if value, err = draw.ParseValue(text); err != nil {
		err = fmt.Errorf("%s, with %s before the cents and no other mark, not %s", draw.DetailOf(err), marks, clipped(field))
	}
	return value, err
}

func parseStock(field string) (int64, error) {
	if field == "" {
		return 0, errors.New(`stock is missing: give a number of units, 0 for none, or the kind blank for a losing ticket without end`)
	}
	stock, err := strconv.ParseInt(field, 10, 64)
	if err != nil || stock < 0 || stock > draw.StockMax || field[0] == '+' {
		return 0, fmt.Errorf("stock must be a whole number from 0 to %d, only digits, not %s", draw.StockMax, clipped(field))
	}
	return stock, nil
}
