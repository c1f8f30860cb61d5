package http

import (
	"bytes"
	"context"
	"math"
	nethttp "net/http"

	"drawsvc/internal/job"
)

// Statements reads what the statement job has written.
type Statements interface {
	// Statements returns the lines of the days after one, at most limit days.
	Statements(ctx context.Context, poolID, after string, limit int) ([]job.Line, error)
}

// daysMax is the most days of one page of statements.
const daysMax = 1000

type statementsAnswer struct {
	Statements []statementAnswer `json:"statements"`
	// Next is the after of the next page, null when this is the last.
	Next *string `json:"next"`
}

type statementAnswer struct {
	Day       string `json:"day"`
	Prize     string `json:"prize"`
	Issued    int64  `json:"issued"`
	Remaining *int64 `json:"remaining"` // null: endless
	Value     string `json:"value"`
	ToVersion int64  `json:"to_version"`
}

func newStatement(l *job.Line) statementAnswer {
	return statementAnswer{l.Day, l.Prize, l.Issued, unlessEndless(l.Remaining, l.IsEndless), l.Value.StringFixed(2), l.ToVersion}
}

// readStatements reads the lines of at most limit days after one, and the day to go on
// after; nil when these are the last.
func (s *Server) readStatements(ctx context.Context, c call, after string, limit int64) (lines []job.Line, next *string, err error) {
	lines, err = s.Statements.Statements(ctx, c.param("pool"), after, int(limit)+1)
	days := int64(0)
	for i := range lines {
		if i > 0 && lines[i].Day == lines[i-1].Day {
			continue
		}
		if days++; days > limit {
			return lines[:i], &lines[i-1].Day, err
		}
	}
	return lines, nil, err
}

// statements answers GET /admin/pools/{pool}/statements.
func (s *Server) statements(ctx context.Context, c call) (statementsAnswer, error) {
	after, err := c.day("after")
	if err != nil {
		return statementsAnswer{}, err
	}
	limit, err := c.number("limit", 1, daysMax, limitUsual)
	if err != nil {
		return statementsAnswer{}, err
	}
	lines, next, err := s.readStatements(ctx, c, after, limit)
	return statementsAnswer{each(lines, newStatement), next}, err
}

// exportDays is how many days are read at once for an export: each may have a line for
// each of 100,000 prizes.
const exportDays = 10

// exportStatements streams it as CSV: all days, or as many as the caller wants.
func (s *Server) exportStatements(c call) error {
	after, err := c.day("after")
	if err != nil {
		return err
	}
	left, err := c.number("limit", 1, daysMax, math.MaxInt64)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := NewStatementRows(&out)
	pace := pace{left: s.limits.page, each: s.limits.pace}
	for {
		lines, next, err := s.statementsPage(c, after, min(left, exportDays))
		if err != nil {
			return err
		}
		for i := range lines {
			rows.Write(&lines[i])
		}
		_ = rows.Flush() // to memory: cannot fail
		if err := pace.of(c, func() error { return c.send(typeCSVHeader, &out) }); err != nil {
			return err
		}
		if left -= exportDays; next == nil || left <= 0 || c.gin.Request.Method == nethttp.MethodHead {
			return nil
		}
		after = *next
	}
}

// statementsPage reads a page in a place of the database.
func (s *Server) statementsPage(c call, after string, limit int64) (lines []job.Line, next *string, err error) {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	done, err := c.place(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	return s.readStatements(ctx, c, after, limit)
}
