package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"
)

// counted formats a number with a noun whose plural ends with s.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, isY := strings.CutSuffix(thing, "y"); isY {
		thing = stem + "ie"
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}

// moved formats a number of units with its sign.
func moved(units int64) string {
	return fmt.Sprintf("%+d %s", units, do(max(units, -units), "unit", "units"))
}

// do returns the verb for n subjects: the parameter one if n is 1, otherwise many.
func do(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// output is the form in which a command prints: table for people, json for programs. It
// implements pflag.Value.
type output string

const (
	outputTable output = "table"
	outputJSON  output = "json"
)

func (o *output) flag(flags *pflag.FlagSet) {
	*o = outputTable
	flags.Var(o, "output", "how to print: table or json")
}

// String implements pflag.Value.
func (o *output) String() string { return string(*o) }

// Type implements pflag.Value.
func (o *output) Type() string { return "table|json" }

// Set implements pflag.Value.
func (o *output) Set(s string) error {
	switch output(s) {
	case outputTable, outputJSON:
		*o = output(s)
		return nil
	}
	return errors.New("must be table or json")
}

// table aligns columns of text on a terminal, including letters of double width. As
// with text/tabwriter, each cell except the last one of a line ends with a tab, and a
// line without a tab ends the columns above it.
type table struct {
	w io.Writer
	// isRight aligns cells to the right; then each line has a tab at its end.
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

// layOut writes lines whose columns are aligned together.
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

const (
	// An import is long if it has more than progressLines lines, or takes progressWait.
	progressLines = 10_000
	progressWait  = time.Second
	// progressEvery is how often the bar is drawn.
	progressEvery = 100 * time.Millisecond
)

// progress shows the progress of a long import, on a terminal.
type progress struct {
	w        io.Writer
	terminal bool
	begun    time.Time
	bar      *progressbar.ProgressBar
}

func newProgress(w io.Writer, terminal bool) *progress {
	return &progress{w: w, terminal: terminal, begun: time.Now()}
}

// at sets how many of the total moves are done.
func (p *progress) at(done, total int) {
	if !p.terminal || p.bar == nil && total <= progressLines && time.Since(p.begun) < progressWait {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowCount(),
			progressbar.OptionThrottle(progressEvery),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = p.bar.Set(done) // the command continues if a bar cannot be drawn
}

// end removes the bar, so that later output begins on a new line.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// orDash returns a text, or a dash if there is none.
func orDash[S ~string](text *S) string {
	if text == nil || *text == "" {
		return "-"
	}
	return string(*text)
}

// timeOrDash returns a time of a view to the second, or a dash for nil.
func timeOrDash(text *string) string {
	if text == nil {
		return "-"
	}
	at, err := time.Parse(time.RFC3339, *text)
	if err != nil || at.IsZero() {
		return orDash(text)
	}
	return at.Format(time.RFC3339)
}

// orEndless formats a number of units for a table; units is nil for an endless blank.
func orEndless(units *int64) string {
	if units == nil {
		return "endless"
	}
	return strconv.FormatInt(*units, 10)
}

// toSeconds returns a time of an answer, to the second.
func toSeconds(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339)
}
