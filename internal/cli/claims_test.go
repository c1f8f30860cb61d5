package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// onlyAward returns the only award of a draw's answer.
func onlyAward(tb testing.TB, body string) map[string]any {
	tb.Helper()
	all := members(tb, body)["awards"].([]any)
	require.Len(tb, all, 1)
	return all[0].(map[string]any)
}

// drawnAs draws under a key, and checks that the replay is the first answer again.
func (s *service) drawnAs(user, key string) (body string, award map[string]any) {
	s.tb.Helper()
	for i := range 2 {
		status, again, err := s.draw("spring", user, key)
		require.NoError(s.tb, err)
		require.Equal(s.tb, http.StatusOK, status, again)
		if i == 0 {
			body = again
		}
		require.Equal(s.tb, strings.Replace(body, `"replayed":false`, fmt.Sprintf(`"replayed":%v`, i > 0), 1), again)
	}
	return body, onlyAward(s.tb, body)
}

// drawPath returns the path of the draw that an answer contains.
func drawPath(tb testing.TB, body string) string {
	tb.Helper()
	return "/pools/spring/draws/" + members(tb, body)["draw"].(string)
}

// restock adds a unit of a prize.
func (s *service) restock(prize string) {
	s.tb.Helper()
	s.admin(http.StatusOK, "POST", "/admin/pools/spring/prizes/"+prize+"/stock", `{"delta":1,"reason":"more"}`)
}

// testCodesInOrder draws three units with codes: unit k has the code of line k, and its
// replay has it too.
func testCodesInOrder(t *testing.T, s *service, lines []string) {
	status, body := s.importing(lines, "")
	require.Equal(t, http.StatusCreated, status, body)
	require.EqualValues(t, 3, members(t, body)["stocked"])
	for i := range lines {
		_, award := s.drawnAs("u1", fmt.Sprint("card-", i))
		require.Equal(t, "card", award["prize"])
		require.Equal(t, lines[int(award["unit"].(float64))-1], award["code"])
		require.EqualValues(t, i+1, award["unit"])
		require.NotContains(t, award, "claim_until")
	}
}

// testClaimed claims a gold and fulfils it. Another user cannot claim it.
func testClaimed(t *testing.T, s *service) {
	s.restock("gold")
	body, award := s.drawnAs("u1", "gold-1")
	require.Equal(t, "gold", award["prize"])
	at, err := time.Parse(time.RFC3339Nano, award["at"].(string))
	require.NoError(t, err)
	until, err := time.Parse(time.RFC3339Nano, award["claim_until"].(string))
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, until.Sub(at))
	path := drawPath(t, body)
	refused := members(t, s.admin(http.StatusNotFound, "POST", path+"/claim", `{"user":"u2"}`))
	require.Equal(t, "draw-not-found", refused["code"])
	for _, replayed := range []bool{false, true} {
		claimed := s.admin(http.StatusOK, "POST", path+"/claim", `{"user":"u1"}`)
		require.Equal(t, replayed, members(t, claimed)["replayed"])
		require.Equal(t, "claimed", onlyAward(t, claimed)["state"])
	}
	step := fmt.Sprintf(`{"award":%.0f,"to":"fulfilled","reference":"DHL 1","from":"claimed"}`, award["version"])
	s.admin(http.StatusOK, "POST", "/admin/pools/spring/steps", step)
	shown := onlyAward(t, s.admin(http.StatusOK, "GET", path, ""))
	require.Equal(t, []any{"fulfilled", "DHL 1", true}, []any{shown["state"], shown["reference"], shown["needs_claim"]})
	s.drawnAs("u1", "gold-1") // the replay is still the first answer, without a state
}

// testExpired waits until an unclaimed gold expires, and runs the job that returns it.
func testExpired(t *testing.T, p program, s *service) {
	s.restock("gold")
	body, award := s.drawnAs("u3", "gold-2")
	require.Equal(t, "gold", award["prize"])
	path := drawPath(t, body)
	require.Eventually(t, func() bool {
		return onlyAward(t, s.admin(http.StatusOK, "GET", path, ""))["state"] == "expired"
	}, commandMax, 100*time.Millisecond)
	refused := members(t, s.admin(http.StatusConflict, "POST", path+"/claim", `{"user":"u3"}`))
	require.Contains(t, []any{"claim-expired", "award-ended"}, refused["code"], "the job may have run already")
	require.Eventually(t, func() bool { // its schedule may have begun a run
		return p.run("job", "run", "claims", "--server", s.url, "--token", s.token).code == exitOK
	}, commandMax, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(s.admin(http.StatusOK, "GET", "/admin/pools/spring/moves?limit=100", ""), `"expired"`)
	}, commandMax, 100*time.Millisecond)
	prizes := members(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""))["prizes"].([]any)
	gold := prizes[1].(map[string]any)
	require.Equal(t, []any{"gold", 1.0, 2.0}, []any{gold["id"], gold["remaining"], gold["issued"]})
}

// testCodeIsClaimed: a code whose award needs a claim is shown by the claim, not by the draw.
func testCodeIsClaimed(t *testing.T, s *service, code string) {
	s.admin(http.StatusOK, "POST", "/admin/pools/spring/prizes/gold/stock", `{"delta":-1,"reason":"out"}`)
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","claims":{}}`)
	status, body := s.importing([]string{code}, "")
	require.Equal(t, http.StatusCreated, status, body)
	body, award := s.drawnAs("u4", "claimed-card")
	require.Equal(t, "card", award["prize"])
	require.Contains(t, award, "claim_until")
	require.Nil(t, award["claim_until"], "no deadline")
	require.NotContains(t, award, "code")
	path := drawPath(t, body)
	require.NotContains(t, s.admin(http.StatusOK, "GET", path, ""), code)
	for range 2 {
		require.Equal(t, code, onlyAward(t, s.admin(http.StatusOK, "POST", path+"/claim", `{"user":"u4"}`))["code"])
	}
	require.Equal(t, code, onlyAward(t, s.admin(http.StatusOK, "GET", path, ""))["code"])
}

// TestFromWonToReceived: a winner's server and an operator see codes, claims, a
// fulfilment and an expiry as they should. An audit finds a changed step.
func TestFromWonToReceived(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "sqlite")
	p, dir := on(t, url), t.TempDir()
	keys := sealKeyFile(t, filepath.Join(dir, "keys"), "k1")
	s := p.serve("--seal-keys", keys)
	lines := stocktest.CodeLines("RECEIVED", 4)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","prizes":[
		{"id":"card","name":"Card","value":"25.00","codes":true},{"id":"gold","name":"Gold"},{"id":"none","name":"None","kind":"blank"}]}`)
	testCodesInOrder(t, s, lines[:3])
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","claims":{"within":"3s","prizes":["gold"]}}`)
	testClaimed(t, s)
	testExpired(t, p, s)
	testCodeIsClaimed(t, s, lines[3])
	_, csv, err := s.ask("GET", "/admin/pools/spring/awards", "", "Authorization", "Bearer "+s.token, "Accept", "text/csv")
	require.NoError(t, err)
	require.Contains(t, csv, "gold")
	places := map[string]string{
		"CSV of awards": csv,
		"log":           s.admin(http.StatusOK, "GET", "/admin/pools/spring/log?limit=100", ""),
		"steps":         s.admin(http.StatusOK, "GET", "/admin/pools/spring/steps", ""),
	}
	require.Equal(t, exitOK, s.end().code)
	file, err := os.ReadFile(strings.TrimPrefix(url, "sqlite:"))
	require.NoError(t, err)
	places["file"] = string(file)
	require.Empty(t, leaks(places, lines))
	p.vars["DRAWSVC_SEAL_KEYS"] = keys
	p.ok("audit", "--deep")
	tamper(t, url, `UPDATE steps SET what = 'reopened' WHERE pool_id = 'spring' AND n = 1`)
	rules, _ := audited(t, p)
	require.Contains(t, rules, "step-unlawful")
}
