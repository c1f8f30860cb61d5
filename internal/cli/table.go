package cli

import (
	"bytes"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// table lays text out in columns that align on a terminal, also where letters
// are as wide as two. As with text/tabwriter, each cell but the last of a line
// ends with a tab, and a line without a tab ends the columns before it.
type table struct {
	w io.Writer
	// isRight aligns cells to the right, and each line has a tab at its end.
	isRight bool
	text    bytes.Buffer
}

// columnGap is the space between two columns.
const columnGap = 2

func newTable(w io.Writer) *table { return &table{w: w} }

// Write adds text. It cannot fail.
func (t *table) Write(p []byte) (int, error) { return t.text.Write(p) }

// Flush writes the columns.
func (t *table) Flush() error {
	var out bytes.Buffer
	var block [][]string
	for line := range strings.Lines(t.text.String()) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) > 1 {
			block = append(block, cells)
			continue
		}
		t.layOut(&out, block)
		out.WriteString(line)
		block = nil
	}
	t.layOut(&out, block)
	t.text.Reset()
	_, err := t.w.Write(out.Bytes())
	return err
}

// layOut writes lines whose columns belong together.
func (t *table) layOut(out *bytes.Buffer, block [][]string) {
	var widths []int
	for _, cells := range block {
		for i, cell := range cells[:len(cells)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	for _, cells := range block {
		last := len(cells) - 1
		for i, cell := range cells[:last] {
			space := strings.Repeat(" ", widths[i]+columnGap-uniseg.StringWidth(cell))
			if t.isRight {
				out.WriteString(space + cell)
			} else {
				out.WriteString(cell + space)
			}
		}
		out.WriteString(cells[last] + "\n")
	}
}
