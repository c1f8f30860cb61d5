package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// byLock draws in external mode. A lock must answer within a second, which may be too
// short on a busy machine. So byLock retries a draw that was refused because of that.
func (s *service) byLock(pool, user, key string) (status int, body string, err error) {
	for begun := time.Now(); time.Since(begun) < commandMax; {
		status, body, err = s.draw(pool, user, key)
		if err != nil || !strings.Contains(body, `"code":"lock-unavailable","outcome":"none"`) {
			break
		}
	}
	return status, body, err
}

// wonByLock is like won, in external mode.
func (s *service) wonByLock(pool, user, key string) (answer map[string]any, replayed bool) {
	s.tb.Helper()
	return s.asWon(s.byLock(pool, user, key))
}

// asWon is like won, for an existing answer.
func (s *service) asWon(status int, body string, err error) (answer map[string]any, replayed bool) {
	s.tb.Helper()
	require.NoError(s.tb, err)
	require.Equal(s.tb, http.StatusOK, status, body)
	return parseDraw(s.tb, body)
}

// TestKnownKeysBehindALock: while another program holds the pool's lock and new draws
// wait for it, known keys are answered.
func TestKnownKeysBehindALock(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := spring(t, url)
		s := p.serve("--mode", "external")
		first, _ := s.wonByLock("spring", "u1", "known")
		tamper(t, url, `UPDATE locks SET expires_at = 9000000000000000, owner = 'another' WHERE key_id = 'spring'`)
		refused := make(chan string, 1)
		go func() {
			_, body, err := s.byLock("spring", "u1", "new")
			if err != nil {
				body = err.Error()
			}
			refused <- body
		}()
		answers := make(chan string, 8)
		for range cap(answers) {
			time.Sleep(20 * time.Millisecond)
			go func() {
				_, body, err := s.draw("spring", "u1", "known")
				if err != nil {
					body = err.Error()
				}
				answers <- body
			}()
		}
		for range cap(answers) {
			body := <-answers
			require.Contains(t, body, `"replayed":true`)
			again, _ := parseDraw(t, body)
			require.Equal(t, first, again)
		}
		require.Contains(t, <-refused, `"code":"contended","outcome":"none"`)
		require.Equal(t, exitOK, s.end().code)
		p.ok("audit")
	})
}
