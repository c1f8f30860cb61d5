package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"drawsvc/internal/page"
)

// Stand is when, where and in how many seconds results were made.
type Stand struct {
	At      string  `json:"at"`
	Quick   bool    `json:"quick"`
	CPUs    int     `json:"cpus"`
	Go      string  `json:"go"`
	Seconds float64 `json:"seconds"`
	Passed  bool    `json:"passed"`
}

// NewStand is that of a run which ends now.
func NewStand(quick bool, took time.Duration, verdict error) Stand {
	return Stand{
		At: Now(), Quick: quick, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Seconds: took.Round(time.Second).Seconds(), Passed: verdict == nil,
	}
}

// Now is the time as results say it.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }

// Day is that of the stand.
func (s Stand) Day() string {
	day, _, _ := strings.Cut(s.At, "T")
	return day
}

// Verdict is nil when every one of the results showed what it had to.
func Verdict[R any](what string, results []R, failed func(*R) bool) error {
	bad := 0
	for i := range results {
		if failed(&results[i]) {
			bad++
		}
	}
	switch {
	case bad > 0:
		return fmt.Errorf("%d of %d %s failed", bad, len(results), what)
	case len(results) == 0:
		return errors.New("no cell was run")
	}
	return nil
}

// Write writes results to a folder, NAME.json and their page NAME.md; the folder
// is made where it is missing.
func Write(folder, name string, results any, markdown string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := page.WriteJSON(filepath.Join(folder, name+".json"), results); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".md"), []byte(markdown), 0o644)
}

// Read reads results that were written as JSON.
func Read[T any](file string) (results T, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return results, err
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return results, fmt.Errorf("read %s: %w", file, err)
	}
	return results, nil
}

// Table writes a table as Markdown.
func Table(heads []string, rows ...[]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s\n", TableRow(heads...), strings.Repeat("---|", len(heads)))
	for _, row := range rows {
		b.WriteString(TableRow(row...))
	}
	return b.String()
}

// PrintTable writes a table to a terminal.
func PrintTable(out io.Writer, heads []string, rows ...[]string) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{heads}, rows...) {
		Say(table, "%s\n", strings.Join(row, "\t"))
	}
	_ = table.Flush() // a terminal that does not take it has nobody to tell
}

// TableRow is one row of a table.
func TableRow(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// Dash shows that there is nothing to show.
func Dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// Milliseconds is a time as results say it.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
