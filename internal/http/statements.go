package http

import (
	"bytes"
	"context"

	"drawsvc/internal/api"
	"drawsvc/internal/job"
)

// Statements reads what the statement job has written.
type Statements interface {
	// Statements returns the lines of the days after one, at most limit days.
	Statements(ctx context.Context, poolID, after string, limit int) ([]job.Line, error)
}

// readStatements reads the page that the call asks for, and the day to go on
// after; nil when this is the last page.
func (s *Server) readStatements(ctx context.Context, c call) (lines []job.Line, next *string, err error) {
	after, err := c.day("after")
	if err != nil {
		return nil, nil, err
	}
	limit, err := c.number("limit", 1, api.DaysMax, api.PageUsual)
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
func (s *Server) statements(ctx context.Context, c call) (api.Statements, error) {
	lines, next, err := s.readStatements(ctx, c)
	return api.Statements{Statements: api.ShowEach(lines, api.ShowStatement), Next: next}, err
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
	rows := api.NewStatementRows(&out)
	for i := range lines {
		rows.Write(new(api.ShowStatement(&lines[i])))
	}
	_ = rows.Flush() // to memory: cannot fail
	c.gin.Writer.Header().Set("Content-Type", typeCSVHeader)
	c.write(c.gin.Writer.Status(), out.Bytes())
	return nil
}
