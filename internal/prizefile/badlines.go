package prizefile

import (
	"fmt"
	"slices"
	"strings"

	"drawsvc/internal/draw"
)

const (
	// namedMax is the maximum number of errors of a file that an error message names.
	namedMax = 10
	// badMax is the maximum number of errors that are counted. Reading stops at the last of
	// them, so that a file full of errors costs little.
	badMax = 1000
)

// BadLines collects the errors of a file, until it is full.
type BadLines struct{ list []badLine }

type badLine struct {
	number int
	text   string
}

// Add adds an error of a line. A line may have several errors.
func (b *BadLines) Add(number int, format string, args ...any) {
	if !b.IsFull() {
		b.list = append(b.list, badLine{number, fmt.Sprintf(format, args...)})
	}
}

// Clone returns a copy that shares nothing with b.
func (b *BadLines) Clone() BadLines { return BadLines{slices.Clone(b.list)} }

// IsFull reports whether the maximum number of errors is reached, so that reading can
// stop.
func (b *BadLines) IsFull() bool { return len(b.list) == badMax }

// Err returns nil if there was no error, otherwise CodeInvalidRequest: the first errors
// in the order of their lines, and how many more there are.
func (b *BadLines) Err() error {
	if len(b.list) == 0 {
		return nil
	}
	sorted := slices.Clone(b.list)
	slices.SortStableFunc(sorted, func(x, y badLine) int { return x.number - y.number })
	var named []string
	for _, bad := range sorted[:min(len(sorted), namedMax)] {
		named = append(named, fmt.Sprintf("line %d: %s", bad.number, bad.text))
	}
	if more := len(sorted) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	if b.IsFull() {
		named = append(named, "the lines after that were not read")
	}
	return draw.Errorf(draw.CodeInvalidRequest, "%s; nothing was imported", strings.Join(named, "; "))
}
