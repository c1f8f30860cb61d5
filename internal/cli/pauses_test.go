package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// refusalOfDraw returns the refusal of a draw, and its Retry-After in seconds.
func (s *service) refusalOfDraw(key string) (status, retryAfter int, problem map[string]any) {
	s.tb.Helper()
	request, err := http.NewRequestWithContext(s.tb.Context(), http.MethodPost, s.url+"/draw", strings.NewReader(`{"pool":"spring","user":"u"}`))
	require.NoError(s.tb, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	answer, err := s.client.Do(request)
	require.NoError(s.tb, err)
	defer answer.Body.Close()
	require.NoError(s.tb, json.NewDecoder(answer.Body).Decode(&problem))
	retryAfter, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
	return answer.StatusCode, retryAfter, problem
}

// staysPaused checks that draws stay paused after the announced end of the pause.
func staysPaused(draw func() string) error {
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		isLast := time.Since(begun) >= 1500*time.Millisecond
		if code := draw(); code != "paused" {
			return fmt.Errorf("a draw is answered %q before the pool was opened", code)
		}
		if isLast {
			return nil
		}
	}
}

// holdsPause reports whether a public log contains the message of a pause.
func holdsPause(log string) bool {
	return strings.Contains(log, "retry_after") || strings.Contains(log, "notice") || strings.Contains(log, "back soon") || strings.Contains(log, "our secret")
}

// TestPausedPoolIsAnswered503: during a pause that will end, draws without a known key
// get 503 with its Retry-After, until the pool is opened. Callers retry, and the public
// log does not contain the message of the pause.
func TestPausedPoolIsAnswered503(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, identity := openCommitted(t, stocktest.Migrated(t, dialect))
			s := p.serve("--seed-identity-file", identity)
			far := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.url, "DRAWSVC_TOKEN": s.token}}
			first, _ := s.won("spring", "u", "known")
			far.ok("pool", "pause", "spring", "--retry-after", "5m", "--notice", "back soon", "--reason", "our secret")
			status, after, problem := s.refusalOfDraw("new")
			require.Equal(t, []any{503, "paused", "none", "back soon"}, []any{status, problem["code"], problem["outcome"], problem["notice"]})
			require.GreaterOrEqual(t, after, 12)
			require.LessOrEqual(t, after, 60)
			again, replayed := s.won("spring", "u", "known")
			require.True(t, replayed)
			require.Equal(t, first, again)
			require.Contains(t, far.ok("log", "--pool", "spring"), `"retry_after":"5m","reason":"our secret","notice":"back soon"`)

			far.ok("pool", "pause", "spring", "--retry-after", "1s")
			code := func() string { _, _, problem := s.refusalOfDraw("new"); return fmt.Sprint(problem["code"]) }
			require.NoError(t, staysPaused(code))
			opened := time.Now().Add(time.Second)
			require.Error(t, staysPaused(func() string { // the broken double: a pause that ends at its time
				if time.Now().After(opened) {
					return "won"
				}
				return "paused"
			}))
			settled := make(chan error, 1)
			go func() {
				c := &client.Client{URL: s.url, HTTP: s.client}
				_, err := c.Draw(context.Background(), client.Request{Pool: "spring", User: "u", Key: "waits"})
				settled <- err
			}()
			require.Eventually(t, func() bool {
				body, err := s.metrics()
				return err == nil && strings.Contains(body, `outcome="paused"}`)
			}, commandMax, 20*time.Millisecond)
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"open"}`)
			require.NoError(t, <-settled)

			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"paused","notice":"sorry"}`)
			status, after, problem = s.refusalOfDraw("new")
			require.Equal(t, []any{409, 0, "pool-not-open", "sorry"}, []any{status, after, problem["code"], problem["notice"]})
			for _, bad := range []string{`{"retry_after":"5m"}`, `{"state":"paused","retry_after":"soon"}`, `{"state":"open","notice":"x"}`, `{"state":"paused","retry_after":"1.5s"}`} {
				s.admin(400, "PATCH", "/admin/pools/spring", bad)
			}
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
			s.admin(200, "POST", "/admin/pools/spring/reveal", "")
			log := s.admin(200, "GET", "/pools/spring/proof/log", "")
			require.Contains(t, log, `"kind":"pause"`)
			require.False(t, holdsPause(log), log)
			require.True(t, holdsPause(log+`{"kind":"pause","reason":"our secret"}`), "the double")
			require.Contains(t, p.ok("audit"), "0 violations")
		})
	}
}
