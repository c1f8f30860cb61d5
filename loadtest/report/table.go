package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table has rows below a header, for a page or for a terminal.
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

// String returns the table as Markdown.
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
	_ = aligned.Flush() // a failed write to a terminal can be reported nowhere
}

// Last returns the row that was added last, as Markdown.
func (t *Table) Last() string { return Row(t.rows[len(t.rows)-1]...) }

// Row returns a row as Markdown.
func Row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// Dash returns the text, or a dash for an empty one.
func Dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// Positive formats a value, or returns a dash if it is not positive.
func Positive[N int | int64 | float64](format string, value N) string {
	if value <= 0 {
		return Dash("")
	}
	return fmt.Sprintf(format, value)
}

// List returns the lines as a list for a page, "" if there are none.
func List(lines ...string) string {
	lines = slices.Clone(lines)
	for n, line := range lines {
		lines[n] = "\n- " + strings.ReplaceAll(line, "\n", " ")
	}
	return strings.Join(lines, "")
}
