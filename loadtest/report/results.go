package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"drawsvc/internal/page"
)

// Stand states when and where results were made, and in how many seconds.
type Stand struct {
	At      string  `json:"at"`
	Quick   bool    `json:"quick"`
	CPUs    int     `json:"cpus"`
	Go      string  `json:"go"`
	Seconds float64 `json:"seconds"`
	Passed  bool    `json:"passed"`
}

// NewStand returns the Stand of a run that ends now.
func NewStand(quick bool, took time.Duration, verdict error) Stand {
	return Stand{
		At: Now(), Quick: quick, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Seconds: took.Round(time.Second).Seconds(), Passed: verdict == nil,
	}
}

// Now returns the time in the format of results.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }

// Day returns the day of a time in the format of results.
func Day(at string) string {
	day, _, _ := strings.Cut(at, "T")
	return day
}

// Milliseconds returns a duration in the format of results.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Outcome is the part that every result of a cell has.
type Outcome struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	// Skipped is why the cell was not run, "" if it was.
	Skipped string `json:"skipped"`
}

// HasFailed reports whether the cell was run without the expected result.
func (o Outcome) HasFailed() bool { return !o.Passed && !o.IsSkipped() }

// IsSkipped reports whether the cell was not run.
func (o Outcome) IsSkipped() bool { return o.Skipped != "" }

// outcome is a result with an Outcome.
type outcome interface {
	HasFailed() bool
	IsSkipped() bool
}

// Count counts the results that failed and those that were skipped.
func Count[R outcome](results []R) (failed, skipped int) {
	for _, r := range results {
		switch {
		case r.HasFailed():
			failed++
		case r.IsSkipped():
			skipped++
		}
	}
	return failed, skipped
}

// Verdict returns nil if every result is as expected.
func Verdict[R outcome](what string, results []R) error {
	failed, _ := Count(results)
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d %s failed", failed, len(results), what)
	case len(results) == 0:
		return errors.New("no cell was run")
	}
	return nil
}

// Write writes results to a folder, as NAME.json, and markdown, their page, as NAME.md.
func Write(folder, name string, results any, markdown string) error {
	if err := WriteJSON(filepath.Join(folder, name+".json"), results); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".md"), []byte(markdown), 0o644)
}

// WriteJSON writes results to a file; its folder is created if it is missing.
func WriteJSON(file string, results any) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return page.WriteJSON(file, results)
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

// Section is a generated part of a page, between the marks of its name.
type Section struct{ Name, Text string }

// Fill replaces sections of a page. If it fails, the page does not change.
func Fill(file string, sections ...Section) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	filled, err := Filled(string(text), sections...)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(filled), 0o644)
}

// Filled returns the text of a page with its sections replaced.
func Filled(text string, sections ...Section) (filled string, err error) {
	for _, s := range sections {
		if text, err = page.Filled(text, s.Name, s.Text); err != nil {
			return "", err
		}
	}
	return text, nil
}
