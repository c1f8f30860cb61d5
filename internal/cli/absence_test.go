package cli

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// tellsOfAbsence returns what is wrong with the log lines about a time in which the
// database was unreachable. At least the given number of batches failed then. The lines
// must be few, count every batch, and state how long it lasted.
func tellsOfAbsence(log []map[string]any, batches, seconds int) error {
	lines, counted, ended, inAll := 0, 0, 0, 0.0
	for _, line := range log {
		switch line["msg"] {
		case "batch given up":
			lines++
			counted++
		case "batches given up":
			lines++
			n, _ := line["batches"].(float64)
			counted += int(n)
			if reasons, _ := line["reasons"].(map[string]any); len(reasons) == 0 || line["pools"] != 1.0 {
				return fmt.Errorf("no pools or reasons: %v", line)
			}
		case "batches are decided again":
			ended++
			inAll, _ = line["batches"].(float64)
			if lasted, _ := line["seconds"].(float64); lasted <= 0 {
				return fmt.Errorf("no length: %v", line)
			}
		}
	}
	switch {
	case counted < batches:
		return fmt.Errorf("%d of at least %d batches are counted", counted, batches)
	case lines > 5*(seconds+2): // a second may have a line with a sum, and lines about the first failures for a few reasons
		return fmt.Errorf("%d lines in %d seconds", lines, seconds)
	case ended != 1 || int(inAll) != counted:
		return fmt.Errorf("%d lines of the end, of %v batches, and %d were counted", ended, inAll, counted)
	}
	return nil
}

// TestAbsenceIsFewLines: while a database is unreachable, there is a log line at the
// start, one a second, and one at the end; the same holds for the readiness.
func TestAbsenceIsFewLines(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "postgres")
	spring(t, url)
	proxy := servertest.StartProxy(t, url)
	s := on(t, proxy.URL()).serve("--batch-max", "1")
	s.won("spring", "u", "before")
	proxy.Cut()
	begun := time.Now()
	const callers, each = 8, 25
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := range each {
				if status, body, err := s.draw("spring", "u", fmt.Sprintf("away-%d-%d", caller, n)); err != nil || status < 500 {
					t.Errorf("%d %s %v", status, body, err)
				}
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { status, _ := s.readiness(); return status == 503 }, commandMax, 20*time.Millisecond)
	seconds := int(time.Since(begun).Seconds()) + 1
	proxy.Pass()
	s.drawUntil(200, func() {})
	require.Eventually(t, func() bool { status, _ := s.readiness(); return status == 200 }, commandMax, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		for _, line := range s.log() {
			if line["msg"] == "batches are decided again" {
				return true
			}
		}
		return false
	}, commandMax, 50*time.Millisecond)
	require.NoError(t, tellsOfAbsence(s.log(), 20, seconds))
	require.NoError(t, tellsOfChanges(s.log()))
	exposition, err := s.metrics()
	require.NoError(t, err)
	require.Regexp(t, `(?m)^drawsvc_database_errors_total\{reason="(connection|connections|unavailable)"\} [1-9]`, exposition)
	require.Contains(t, exposition, `drawsvc_database_errors_total{reason="full"} 0`+"\n")
	require.Regexp(t, `(?m)^drawsvc_http_refusals_total\{code="store-unavailable"\} [1-9]`, exposition)
}

// TestTellsOfAbsenceCatches: a log with a line for each batch fails, and so does a log
// that does not count some batches.
func TestTellsOfAbsenceCatches(t *testing.T) {
	t.Parallel()
	first := map[string]any{"msg": "batch given up"}
	sum := map[string]any{"msg": "batches given up", "batches": 99.0, "pools": 1.0, "reasons": map[string]any{"connection": 99.0}}
	end := map[string]any{"msg": "batches are decided again", "batches": 100.0, "seconds": 2.5}
	require.NoError(t, tellsOfAbsence([]map[string]any{first, sum, end}, 100, 1))
	flood := []map[string]any{end}
	for range 100 {
		flood = append(flood, first)
	}
	for _, double := range [][]map[string]any{flood, {first, end}, {first, sum}, {first, sum, end, end}, {}} {
		require.Error(t, tellsOfAbsence(double, 100, 1))
	}
}
