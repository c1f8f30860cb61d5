package cli

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestCodesKilled: a service is killed repeatedly while it imports and hands out codes.
// The same file with the same key is imported once. In the end each key of a draw has one
// award, with the code of its unit.
func TestCodesKilled(t *testing.T) {
	servertest.Long(t)
	each(t, func(t *testing.T, url string) {
		const token = "a-token-of-the-test-of-kills"
		p, dir := on(t, url), t.TempDir()
		p.ok("migrate", "up")
		args := []string{"--seal-keys", sealKeyFile(t, filepath.Join(dir, "keys"), "k1"), "--admin-token", token}
		p.ok("pool", "create", "spring")
		p.ok("prize", "add", "--pool", "spring", "--codes", "--prize", "id=card")
		lines := stocktest.CodeLines("KILL", 15_000)
		imported := func(s *process) (int, error) {
			status, _, err := s.ask("POST", "/admin/pools/spring/prizes/card/codes", strings.Join(lines, "\n")+"\n",
				"Authorization", "Bearer "+token, "Content-Type", "text/plain", "Idempotency-Key", "delivery")
			return status, err
		}
		for round := 0; ; round++ { // each round may get further than the one before
			s := p.start(args...)
			ended := make(chan int, 1)
			go func() {
				status, _ := imported(s)
				ended <- status
			}()
			select {
			case status := <-ended:
				require.Equal(t, http.StatusCreated, status)
			case <-time.After(time.Duration(100*(round+1)) * time.Millisecond):
			}
			s.signal(syscall.SIGKILL)
			if len(ended) == 0 && round >= 3 {
				s = p.start(args...)
				status, err := imported(s)
				require.NoError(t, err)
				require.Equal(t, http.StatusCreated, status)
				s.signal(syscall.SIGKILL)
				break
			}
		}
		drawKilled(t, p, args, lines)
		p.vars["DRAWSVC_SEAL_KEYS"] = filepath.Join(dir, "keys")
		rows, err := csv.NewReader(strings.NewReader(p.ok("codes", "export", "--pool", "spring"))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, len(lines)+1)
		for i, line := range lines {
			require.Equal(t, line, rows[i+1][4])
		}
		require.Equal(t, 1, strings.Count(p.ok("log", "--pool", "spring"), `"reason":"codes"`), "one move")
		require.Contains(t, p.ok("audit"), "0 violations")
	})
}

// drawKilled draws under keys while the service is killed, and repeats all of them in
// the end.
func drawKilled(t *testing.T, p program, args, lines []string) {
	t.Helper()
	const rounds, keys = 3, 40
	var s *process
	for round := range rounds {
		s = p.start(args...)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range keys {
				if _, _, err := s.draw("spring", "u", fmt.Sprintf("k%d-%d", round, n)); err != nil {
					return
				}
			}
		}()
		time.Sleep(time.Duration(20*(round+1)) * time.Millisecond)
		s.signal(syscall.SIGKILL)
		<-done
	}
	s = p.start(args...)
	seen := map[string]bool{}
	for round := range rounds {
		for n := range keys {
			answer, _ := s.won("spring", "u", fmt.Sprintf("k%d-%d", round, n))
			award := answer["awards"].([]any)[0].(map[string]any)
			code := award["code"].(string)
			require.Equal(t, lines[int(award["unit"].(float64))-1], code)
			require.False(t, seen[code])
			seen[code] = true
		}
	}
	s.signal(os.Interrupt)
}
