package api

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// These values determine the treatment of formulas, for exports that are opened in
// spreadsheets. Fields are unchanged, or formulas get an apostrophe before them.
const (
	FormulasExact   = "exact"
	FormulasEscaped = "escaped"
)

// Rows writes entries as CSV: a header, and a row for each entry. It quotes fields only
// where CSV requires it.
type Rows[E any] struct {
	out *csv.Writer
	// row returns the row of an entry. It passes fields that callers have chosen through
	// text.
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

// Flush writes all rows. It returns the writer's first error, even one of an earlier row.
func (r *Rows[E]) Flush() error {
	r.out.Flush()
	return r.out.Error()
}

// NewAwardRows writes awards in the form of GET …/awards. escaped means that formulas are
// escaped.
func NewAwardRows(w io.Writer, escaped bool) *Rows[Award] {
	return newRows(w, awardHeader, escaped, awardRow)
}

// NewFeedRows writes awards in the form of GET /admin/awards. escaped means that formulas
// are escaped.
func NewFeedRows(w io.Writer, escaped bool) *Rows[FeedAward] {
	return newRows(w, "pool,"+awardHeader+",cursor", escaped, func(a *FeedAward, text func(string) string) []string {
		return append(append([]string{a.Pool}, awardRow(&a.Award, text)...), a.Cursor)
	})
}

const awardHeader = "version,at,draw,ordinal,user,prize,name,value,unit,win,kind,redirect_drawn,redirect_why"

func awardRow(a *Award, text func(string) string) []string {
	row := []string{
		number(a.Version), a.At, text(a.Draw), strconv.Itoa(a.Ordinal), text(a.User), a.Prize, text(a.Name), a.Value, number(a.Unit),
		strconv.FormatBool(a.Win), string(a.Kind), "", "",
	}
	if r := a.Redirect; r != nil {
		row[len(row)-2], row[len(row)-1] = orEmpty(r.Drawn), string(r.Why)
	}
	return row
}

// NewLifeRows writes awards with their states in the form of GET …/awards?state=S.
// escaped means that formulas are escaped.
func NewLifeRows(w io.Writer, escaped bool) *Rows[Life] {
	return newRows(w, awardHeader+",state,since,reference", escaped, func(l *Life, text func(string) string) []string {
		return append(awardRow(&l.Award, text), string(l.State), l.Since, text(l.Reference))
	})
}

// NewStepRows writes steps in the form of GET …/steps. escaped means that formulas are
// escaped.
func NewStepRows(w io.Writer, escaped bool) *Rows[Step] {
	return newRows(w, "n,award,to,state,draw,ordinal,prize,reference,reason,returned,actor,at", escaped, func(s *Step, text func(string) string) []string {
		returned := ""
		if s.Returned != nil {
			returned = number(*s.Returned)
		}
		return []string{
			number(s.N), number(s.Award), string(s.To), string(s.State), text(s.Draw), strconv.Itoa(s.Ordinal), s.Prize, text(s.Reference), text(s.Reason),
			returned, text(s.Actor), s.At,
		}
	})
}

// NewMoveRows writes moves in the form of GET …/moves. escaped means that formulas are
// escaped.
func NewMoveRows(w io.Writer, escaped bool) *Rows[Move] {
	return newRows(w, "version,at,prize,delta,reason,actor,stocked,issued", escaped, func(m *Move, text func(string) string) []string {
		return []string{
			number(m.Version), m.At, m.Prize, numberOrEndless(m.Delta), text(m.Reason), text(m.Actor), numberOrEndless(m.Stocked), number(m.Issued),
		}
	})
}

// NewPrizeRows writes prizes in the form of a file to import. The stock is the number of
// remaining units, and empty for an endless blank.
func NewPrizeRows(w io.Writer, escaped bool) *Rows[Prize] {
	return newRows(w, "prize,name,value,stock,kind", escaped, func(p *Prize, text func(string) string) []string {
		remaining := ""
		if p.Remaining != nil {
			remaining = number(*p.Remaining)
		}
		return []string{p.ID, text(p.Name), p.Value, remaining, string(p.Kind)}
	})
}

// NewStatementRows writes the lines of statements in the form of GET …/statements. They
// contain no text that a caller has chosen.
func NewStatementRows(w io.Writer) *Rows[Statement] {
	return newRows(w, "day,prize,issued,remaining,value,to_version", false, func(l *Statement, _ func(string) string) []string {
		return []string{l.Day, l.Prize, number(l.Issued), numberOrEndless(l.Remaining), l.Value, number(l.ToVersion)}
	})
}

// numberOrEndless returns a number of units for a CSV file; nil means an endless blank.
func numberOrEndless(n *int64) string {
	if n == nil {
		return "endless"
	}
	return number(*n)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// escapeFormula puts an apostrophe before a field that a spreadsheet might interpret as a
// formula. Such a field may also begin with a full-width character.
func escapeFormula(field string) string {
	first, _ := utf8.DecodeRuneInString(field)
	if strings.ContainsRune("=+-@\t\r\uff1d\uff0b\uff0d\uff20", first) {
		return "'" + field
	}
	return field
}
