package cli

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
)

// stepFileMax is the maximum time that a file of 100,000 steps should take.
const stepFileMax = time.Minute

// winMany draws n units of the pool spring for one user. n must be a multiple of
// [draw.CountMax].
func (s *service) winMany(n int) {
	s.tb.Helper()
	var callers sync.WaitGroup
	const at = 4
	for caller := range at {
		callers.Go(func() {
			for i := caller; i < n/draw.CountMax; i += at {
				body := fmt.Sprintf(`{"pool":"spring","user":"u1","count":%d}`, draw.CountMax)
				status, answer, err := s.ask("POST", "/draw", body, "Idempotency-Key", fmt.Sprint("d", i))
				if err != nil || status != http.StatusOK {
					s.tb.Errorf("status %d: %s %v", status, answer, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// sendSteps sends a file of steps with the admin token.
func (s *service) sendSteps(file string) (int, string, error) {
	return s.ask("POST", "/admin/pools/spring/steps", file, "Authorization", "Bearer "+s.token, "Content-Type", "text/csv")
}

// TestStepFilesKilled: a file of many steps is written whole or, with a bad last line,
// not at all. A service is killed repeatedly while it writes the file. When the same
// file is sent again, each award has one step; when it is sent once more, nothing is
// written.
func TestStepFilesKilled(t *testing.T) {
	servertest.Long(t)
	each(t, func(t *testing.T, url string) {
		awards := 3000
		if servertest.Every() {
			awards = 100_000
		}
		p, db := on(t, url), rows(t, url)
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", fmt.Sprint("id=gold,stock=", awards))
		const token = "a-token-of-the-test-of-kills"
		start := func() *process {
			s := p.start("--admin-token", token)
			s.token = token
			return s
		}
		s := start()
		s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"claims":{}}`)
		before := int(members(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""))["version"].(float64))
		s.winMany(awards)
		var lines strings.Builder
		lines.WriteString("award,to,reference\n")
		for i := range awards {
			fmt.Fprintf(&lines, "%d,fulfilled,DHL %d\n", before+1+i, i)
		}
		file := lines.String()

		status, body, err := s.sendSteps(file + fmt.Sprintf("%d,fulfilled,none\n", before+awards+1))
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, body, fmt.Sprintf("line %d: ", awards+2))
		require.Zero(t, lastStep(t, db))

		written := 0
		for round := 0; written < awards/2 && round < 20; round++ {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _, _ = s.sendSteps(file) // the kill cuts the answer
			}()
			require.Eventually(t, func() bool { return lastStep(t, db) > written }, commandMax, 20*time.Millisecond)
			s.signal(syscall.SIGKILL)
			<-ended
			s = start()
			written = lastStep(t, db)
		}
		begun := time.Now()
		for round := range 2 {
			status, body, err = s.sendSteps(file)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, body)
			done := members(t, body)
			if round == 0 {
				require.EqualValues(t, written, done["unchanged"])
				t.Logf("%v of %d steps in %v", done["written"], awards, time.Since(begun))
				require.Less(t, time.Since(begun), stepFileMax)
			} else {
				require.EqualValues(t, awards, done["unchanged"])
			}
		}
		require.EqualValues(t, awards, lastStep(t, db))
		s.signal(syscall.SIGTERM)
		var found int
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(DISTINCT award) FROM steps WHERE seq = 1 AND what = 'fulfilled'`).Scan(&found))
		require.Equal(t, awards, found)
		require.Contains(t, p.ok("audit"), "0 violations")
	})
}

// lastStep returns the number of the last step in the database.
func lastStep(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COALESCE(MAX(n), 0) FROM steps`).Scan(&n))
	return n
}
