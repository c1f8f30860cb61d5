package api

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The values of formulas, which makes an export safe for spreadsheets: fields as they
// are, or with an apostrophe before formulas.
const (
	FormulasExact   = "exact"
	FormulasEscaped = "escaped"
)

// Rows writes entries as CSV: a header, and a row for each. Fields are written exactly
// as they are, quoted as CSV needs and nothing more.
type Rows[E any] struct {
	out *csv.Writer
	// row makes a row of an entry; text is for what callers chose.
	row  func(e *E, text func(string) string) []string
	text func(string) string
}

func newRows[E any](w io.Writer, header string, escaped bool, row func(e *E, text func(string) string) []string) *Rows[E] {
	r := &Rows[E]{out: csv.NewWriter(w), row: row, text: func(field string) string { return field }}
	if escaped {
		r.text = escapeFormula
	}
	_ = r.out.Write(strings.Split(header, ",")) // Flush returns the error
	return r
}

// Write adds the row of an entry.
func (r *Rows[E]) Write(e *E) { _ = r.out.Write(r.row(e, r.text)) } // Flush returns the error

// Flush passes all rows on. Errors are those of the writer, also of rows before.
func (r *Rows[E]) Flush() error {
	r.out.Flush()
	return r.out.Error()
}

// NewAwardRows writes awards, as GET …/awards does; escaped is for formulas.
func NewAwardRows(w io.Writer, escaped bool) *Rows[Award] {
	return newRows(w, "version,at,draw,ordinal,user,prize,name,value,unit", escaped, func(a *Award, text func(string) string) []string {
		return []string{number(a.Version), a.At, text(a.Draw), strconv.Itoa(a.Ordinal), text(a.User), a.Prize, text(a.Name), a.Value, number(a.Unit)}
	})
}

// NewMoveRows writes moves, as GET …/moves does; escaped is for formulas.
func NewMoveRows(w io.Writer, escaped bool) *Rows[Move] {
	return newRows(w, "version,at,prize,delta,reason,actor,stocked,issued", escaped, func(m *Move, text func(string) string) []string {
		return []string{
			number(m.Version), m.At, m.Prize, numberOrEndless(m.Delta), text(m.Reason), text(m.Actor), numberOrEndless(m.Stocked), number(m.Issued),
		}
	})
}

// NewStatementRows writes the lines of statements, as GET …/statements does. They
// hold nothing that a caller chose.
func NewStatementRows(w io.Writer) *Rows[Statement] {
	return newRows(w, "day,prize,issued,remaining,value,to_version", false, func(l *Statement, _ func(string) string) []string {
		return []string{l.Day, l.Prize, number(l.Issued), numberOrEndless(l.Remaining), l.Value, number(l.ToVersion)}
	})
}

// numberOrEndless is a number of units in a CSV file, nil for an endless blank.
func numberOrEndless(n *int64) string {
	if n == nil {
		return "endless"
	}
	return number(*n)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// escapeFormula puts an apostrophe before a field that a spreadsheet would take
// for a formula, also in the wide letters of East Asian ones.
func escapeFormula(field string) string {
	first, _ := utf8.DecodeRuneInString(field)
	if strings.ContainsRune("=+-@\t\r\uff1d\uff0b\uff0d\uff20", first) {
		return "'" + field
	}
	return field
}
