package http

import (
	"bytes"
	"context"

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

// readStatements reads the page that the call asks for, and the day to go on
// after; nil when this is the last page.
func (s *Server) readStatements(ctx context.Context, c call) (lines []job.Line, next *string, err error) {
	after, err := c.day("after")
	if err != nil {
		return nil, nil, err
	}
	limit, err := c.number("limit", 1, daysMax, limitUsual)
	if err != nil {
		return nil, nil, err
	}
	lines, err = s.Store.Statements(ctx, c.param("pool"), after, int(limit)+1)
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
	lines, next, err := s.readStatements(ctx, c)
	return statementsAnswer{each(lines, newStatement), next}, err
}

// exportStatements answers it as CSV: one page, as JSON has it.
func (s *Server) exportStatements(c call) error {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	lines, err := placed(ctx, c, func() ([]job.Line, error) {
		lines, _, err := s.readStatements(ctx, c)
		return lines, err
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	rows := NewStatementRows(&out)
	for i := range lines {
		rows.Write(&lines[i])
	}
	_ = rows.Flush() // to memory: cannot fail
	c.gin.Writer.Header().Set("Content-Type", typeCSVHeader)
	c.write(c.gin.Writer.Status(), out.Bytes())
	return nil
}
