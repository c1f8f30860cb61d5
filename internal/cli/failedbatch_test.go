package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// givenUp returns the log lines about failed batches.
func givenUp(s *service) (lines []map[string]any) {
	for _, line := range s.log() {
		if line["msg"] == "batch given up" {
			lines = append(lines, line)
		}
	}
	return lines
}

// drawsNamed makes draws at once, each with its own id, key and user. Each must be
// answered with status.
func drawsNamed(t *testing.T, s *service, n, status int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			got, body, err := s.ask("POST", "/draw", fmt.Sprintf(`{"pool":"spring","user":"secret-user-%d"}`, i),
				"Idempotency-Key", fmt.Sprint("secret-key-", i), "X-Request-Id", fmt.Sprint("req-", i))
			if err != nil || got != status {
				t.Errorf("%d %s %v", got, body, err)
			}
		})
	}
	all.Wait()
}

// tells returns the faults of the lines about failed batches: each must name its pool
// and some of its requests, and there must be few lines.
func tells(s *service) error {
	lines := givenUp(s)
	if len(lines) == 0 {
		return fmt.Errorf("no line: %s", s.stderr.String())
	}
	for _, line := range lines {
		requests, _ := line["requests"].([]any)
		if line["pool"] != "spring" || len(requests) == 0 || len(requests) > 10 {
			return fmt.Errorf("it does not say which draws failed: %v", line)
		}
		for _, id := range requests {
			if text, _ := id.(string); !strings.HasPrefix(text, "req-") {
				return fmt.Errorf("%v is no request", id)
			}
		}
	}
	for _, private := range []string{"secret-user", "secret-key"} {
		if strings.Contains(s.stderr.String(), private) {
			return fmt.Errorf("the log holds %s", private)
		}
	}
	return nil
}

// TestFailedBatchNamesItsDraws: for every reason of a failure, the line names draws, but
// no key, user or password.
func TestFailedBatchNamesItsDraws(t *testing.T) {
	t.Parallel()
	for dialect, lock := range map[string]string{
		"postgres": `SELECT id FROM pools WHERE id = 'spring' FOR UPDATE`, "mysql": `SELECT id FROM pools WHERE id = 'spring' FOR UPDATE`,
	} {
		t.Run(dialect+" busy", func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			// A batch has one attempt, so that it ends long before its draws time out.
			s := spring(t, url).serve("--mode", "optimistic", "--optimistic-tries", "1")
			tx, err := rows(t, url).BeginTx(context.Background(), nil)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(t.Context(), lock)
			require.NoError(t, err)
			drawsNamed(t, s, 30, 503)
			require.NoError(t, tells(s))
			require.NotContains(t, s.stderr.String(), url)
		})
	}
	t.Run("lock away", func(t *testing.T) {
		t.Parallel()
		s := spring(t, stocktest.Migrated(t, "postgres")).serve("--mode", "external", "--lock", "redis://"+servertest.ClosedAddr(t)+"/0", "--lock-wait", "100ms")
		drawsNamed(t, s, 5, 503)
		require.NoError(t, tells(s))
	})
	// The broken doubles are a line without requests, and a line with too much.
	for _, double := range []string{
		`{"msg":"batch given up","mode":"for-update","draws":3}`,
		`{"msg":"batch given up","pool":"spring","requests":["secret-key-1"]}`,
		`{"msg":"batch given up","pool":"spring","requests":["req-1"],"error":"Duplicate entry 'spring-secret-key-1'"}`,
	} {
		s := &service{}
		_, _ = s.stderr.Write([]byte(double + "\n"))
		require.Error(t, tells(s), double)
	}
}
