package stock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/job"
	"drawsvc/internal/stock/stocktest"
)

// judgePages reads all lines of a statement page by page, and reports the faults of the
// pages. These are too many lines, a day in two pages, or missing lines.
func judgePages(days, each, linesMax int, read func(after string) ([]job.Line, string)) error {
	seen := map[string]int{}
	for after := ""; ; {
		lines, next := read(after)
		if len(lines) > linesMax {
			return fmt.Errorf("a page has %d lines", len(lines))
		}
		for i := range lines {
			if lines[i].Day <= after {
				return fmt.Errorf("day %s is in two pages", lines[i].Day)
			}
			seen[lines[i].Day]++
		}
		if next == "" {
			break
		}
		after = next
	}
	for day, n := range seen {
		if n != each {
			return fmt.Errorf("day %s has %d lines of %d", day, n, each)
		}
	}
	if len(seen) != days {
		return fmt.Errorf("%d days of %d", len(seen), days)
	}
	return nil
}

// TestStatementsArePagesOfWholeDays: a page has at most 10,000 lines, in whole days, even
// if many days are requested. A day with more lines is a page of its own. One broken
// double ends a page in the middle of a day. Another reads all days at once.
func TestStatementsArePagesOfWholeDays(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 1)
			stocktest.Pool(t, s, "wide", 1)
			const fill = `INSERT INTO statements (pool_id, day, prize_id, issued, remaining, value, to_version)
				WITH RECURSIVE days (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM days WHERE d < %d), prizes (p) AS (SELECT 0 UNION ALL SELECT p + 1 FROM prizes WHERE p < %d)
				SELECT '%s', '2' || (100 + d), 'prize-' || p, 1, 1, '1.00', 1 FROM days, prizes`
			stocktest.ExecAll(t, s, []string{fmt.Sprintf(fill, 40, 699, "p"), fmt.Sprintf(fill, 1, 11_999, "wide")})
			read := func(pool string, limit int) func(string) ([]job.Line, string) {
				return func(after string) ([]job.Line, string) {
					lines, next, err := s.Statements(t.Context(), pool, after, limit)
					require.NoError(t, err)
					return lines, next
				}
			}
			for _, limit := range []int{1, 7, 1000} {
				require.NoError(t, judgePages(41, 700, 10_000, read("p", limit)), "%d days", limit)
				require.NoError(t, judgePages(2, 12_000, 12_000, read("wide", limit)), "%d days", limit)
			}
			require.ErrorContains(t, judgePages(41, 700, 10_000, func(after string) ([]job.Line, string) {
				lines, next := read("p", 7)(after)
				return lines[:len(lines)-1], next
			}), "lines of 700")
			require.ErrorContains(t, judgePages(41, 700, 10_000, func(string) (all []job.Line, _ string) {
				for after := ""; ; {
					lines, next := read("p", 1000)(after)
					if all = append(all, lines...); next == "" {
						return all, ""
					}
					after = next
				}
			}), "28700 lines")
		})
	}
}
