package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"drawsvc/internal/locker/lockertest"
	"drawsvc/loadtest/report"
)

// measured holds the measurements of one lock by the suite and by this program.
type measured struct {
	lockertest.Result
	speed
}

// read merges the tests' results for each lock, sorted by lock and server.
func read(in io.Reader) ([]measured, error) {
	merged := map[string]*measured{}
	for lines := json.NewDecoder(in); ; {
		var line json.RawMessage
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		var name measured
		if err := json.Unmarshal(line, &name); err != nil {
			return nil, err
		}
		key := name.Lock + "\x00" + name.Server
		if merged[key] == nil {
			merged[key] = &measured{}
		}
		// Members that a test did not measure are not in its line, and keep the value
		// of another test.
		if err := json.Unmarshal(line, merged[key]); err != nil {
			return nil, err
		}
	}
	if len(merged) == 0 {
		return nil, errors.New("there are no results")
	}
	var all []measured
	for _, r := range merged {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b measured) int {
		return strings.Compare(a.Lock+a.Server, b.Lock+b.Server)
	})
	return all, nil
}

// missing is the text of a cell without a result.
const missing = "not measured"

type column struct {
	head string
	cell func(r measured) string
}

func promises() []column {
	return []column{
		{"lock", name},
		{"lease", func(r measured) string { return span(r.TTL) }},
		{"one at a time", func(r measured) string {
			return known(r.Contenders > 0, func() string {
				if r.Overlaps > 0 {
					return fmt.Sprintf("**no**, %d overlaps", r.Overlaps)
				}
				return fmt.Sprintf("yes, %d contenders", r.Contenders)
			})
		}},
		{"holder killed: free after", func(r measured) string { return span(r.KilledFree) }},
		{"holder paused: next holder after; late write rejected", func(r measured) string {
			return known(r.PausedFree > 0, func() string { return span(r.PausedFree) + ", " + yes(r.StaleRejected) })
		}},
		{"leases of one renewed lock", func(r measured) string {
			return known(r.RenewedTerms > 0, func() string { return fmt.Sprint(r.RenewedTerms) })
		}},
		{"single attempt refused after", func(r measured) string { return span(r.TryOnce) }},
		{"a wait exceeds its limit by", func(r measured) string { return span(r.WaitOver) }},
		{"waiters", served(func(r measured) string {
			return known(r.Waiters > 0, func() string {
				if r.Wakes {
					return fmt.Sprintf("woken, %.1f of %d per release", r.WokenPerRelease, r.Waiters)
				}
				return fmt.Sprintf("poll, %.0f times a second", r.AsksPerSecond)
			})
		})},
		{"first come first served", func(r measured) string {
			return known(r.Runs > 0, func() string { return fmt.Sprintf("%d of %d queues", r.InOrder, r.Runs) })
		}},
		{"re-entrant", func(r measured) string { return yes(r.Reentrant) }},
		{"token grows", func(r measured) string { return yes(r.TokenGrows) }},
	}
}

func speedColumns() []column {
	return []column{
		{"lock", name},
		{"acquire and release", func(r measured) string { return span(r.Uncontended) }},
		{"hand-over", func(r measured) string { return span(r.HandOver) }},
		{"draws/s in external mode", func(r measured) string {
			return known(r.DrawsPerSecond > 0, func() string {
				return fmt.Sprintf("%.0f with %d callers", r.DrawsPerSecond, r.Callers)
			})
		}},
	}
}

func failures() []column {
	return []column{
		{"lock", name},
		{"server down: refused after", served(func(r measured) string { return span(r.DownRefused) })},
		{"link cut or silent: refused after at most", served(func(r measured) string { return span(r.BrokenRefused) })},
		{"server back: works after", served(func(r measured) string { return span(r.BackAfter) })},
		{"other observations", served(func(r measured) string {
			return known(len(r.Seen) > 0, func() string { return strings.Join(r.Seen, "; ") })
		})},
	}
}

func name(r measured) string {
	return "`" + r.Lock + "` on " + r.Server
}

// served wraps a cell that only a lock with a server can have.
func served(cell func(r measured) string) func(r measured) string {
	return func(r measured) string {
		if r.File {
			return "a file of one process"
		}
		return cell(r)
	}
}

func known(is bool, cell func() string) string {
	if !is {
		return missing
	}
	return cell()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return missing
}

// span formats milliseconds with two or three significant digits.
func span(milliseconds float64) string {
	switch {
	case milliseconds <= 0:
		return missing
	case milliseconds < 10:
		return fmt.Sprintf("%.2f ms", milliseconds)
	}
	return fmt.Sprintf("%.0f ms", milliseconds)
}

func tables(all []measured) string {
	first := all[0]
	return fmt.Sprintf("%d cores for callers, locks and servers together; the servers keep their data in memory.\n\n", first.Cores) +
		table(promises(), all) + "\n" + table(speedColumns(), all) + "\n" + table(failures(), all)
}

func table(columns []column, all []measured) string {
	var heads []string
	rows := make([][]any, len(all))
	for _, c := range columns {
		heads = append(heads, c.head)
		for n, r := range all {
			rows[n] = append(rows[n], c.cell(r))
		}
	}
	t := report.NewTable(strings.Join(heads, " | "))
	for _, row := range rows {
		t.Add(row...)
	}
	return t.String()
}
