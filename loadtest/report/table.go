package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table is rows below heads, for a page or for a terminal.
type Table struct{ rows [][]string }

// NewTable returns a table without rows. Its heads are separated as in Markdown.
func NewTable(heads string) *Table { return &Table{[][]string{strings.Split(heads, " | ")}} }

// Add adds a row.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for n, cell := range cells {
		row[n] = fmt.Sprint(cell)
	}
	t.rows = append(t.rows, row)
}

// String is the table as Markdown.
func (t *Table) String() string {
	var b strings.Builder
	for n, row := range t.rows {
		b.WriteString(Row(row...))
		if n == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

// Print writes the table to a terminal.
func (t *Table) Print(out io.Writer) {
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(aligned, strings.Join(row, "\t"))
	}
	_ = aligned.Flush() // a terminal that does not take it has nobody to tell
}

// Last is the row that was added last, as Markdown.
func (t *Table) Last() string { return Row(t.rows[len(t.rows)-1]...) }

// Row is a row as Markdown.
func Row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// Dash shows that there is nothing to show.
func Dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// Positive formats a value, and shows a dash for one that is not positive.
func Positive[N int | int64 | float64](format string, value N) string {
	if value <= 0 {
		return Dash("")
	}
	return fmt.Sprintf(format, value)
}

// List adds what is listed to a page, each in a line, if anything is.
func List(lines ...string) string {
	lines = slices.Clone(lines)
	for n, line := range lines {
		lines[n] = "\n- " + strings.ReplaceAll(line, "\n", " ")
	}
	return strings.Join(lines, "")
}
