package prizefile

import (
	"io"
	"strconv"
	"strings"

	"drawsvc/internal/draw"
)

// stepColumns returns the columns of a file of steps. Only the first two are required.
func stepColumns() []column {
	return []column{{name: "award"}, {name: "to"}, {name: "reference"}, {name: "reason"}, {name: "return"}}
}

const stepHeader = "award,to[,reference,reason,return]"

// ReadSteps reads a file of steps, and checks it as far as that is possible without the
// pool. Error: CodeInvalidRequest, which names the first bad lines.
func ReadSteps(file io.Reader) ([]draw.WantedStep, draw.Encoding, error) {
	f := stepReading{table: table{header: stepHeader, known: stepColumns(), optional: len(stepColumns()) - 2}, seen: map[int64]int{}}
	if err := f.read(file, f.row); err != nil {
		return nil, "", err
	}
	if f.bad.Err() == nil && len(f.steps) == 0 {
		f.bad.Add(1, "is all that the file has: a step has to follow")
	}
	return f.steps, f.text.encoding, f.bad.Err()
}

type stepReading struct {
	table
	steps []draw.WantedStep
	// seen are the line numbers by the awards' versions.
	seen map[int64]int
}

// row reads a row of the file.
func (f *stepReading) row(number int, fields []string) bool {
	if len(fields) > f.columns.count { // a shorter row only has fewer optional texts
		if err := f.columns.check(fields); err != nil {
			f.bad.Add(number, "%s", err)
			return !f.bad.IsFull()
		}
	}
	of := func(name string) string { return f.of(fields, name) }
	s := draw.WantedStep{
		What: draw.StepKind(strings.ToLower(of("to"))), Reference: of("reference"), Reason: of("reason"), Line: number,
	}
	award, err := strconv.ParseInt(of("award"), 10, 64)
	if err != nil {
		f.bad.Add(number, "award must be a version, a whole number above 0")
		return !f.bad.IsFull()
	}
	switch s.Award = award; strings.ToLower(of("return")) {
	case "", "false":
	case "true":
		s.Return = true
	default:
		f.bad.Add(number, "return must be true or false")
		return !f.bad.IsFull()
	}
	first, isTwice := f.seen[award]
	switch err := s.Check(); {
	case err != nil:
		f.bad.Add(number, "%s", draw.DetailOf(err))
	case isTwice:
		f.bad.Add(number, "the award %d is in line %d already", award, first)
	default:
		f.seen[award] = number
		f.steps = append(f.steps, s)
	}
	return !f.bad.IsFull()
}
