package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/servertest/drand"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// announced returns the round that `pool open` prints.
func announced(t *testing.T, printed string) (round int64) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	var at string
	_, err := fmt.Sscanf(lines[len(lines)-1], "round %d at %s", &round, &at)
	require.NoError(t, err, printed)
	_, err = time.Parse(time.RFC3339, at)
	require.NoError(t, err, printed)
	return round
}

// TestVerifiableDrawsOfBeacon: a pool with a beacon is committed, opened by a file, by
// HTTP and by --fetch, drawn from, closed, and both programs verify its files.
func TestVerifiableDrawsOfBeacon(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "python3", "python3")
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			recipients, identity := keyFiles(t)
			chain := drand.New(t, time.Now().Unix()-100, 1)
			p := on(t, stocktest.Migrated(t, dialect))
			p.ok("migrate", "up")
			p.ok("pool", "create", "spring", "--state=paused", "--prize", "id=gold,stock=5,value=19.90", "--prize", "id=silver,stock=95")
			note := p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients, "--beacon", chain.Beacon())
			require.Contains(t, note, "\nbeacon "+chain.Beacon()+"\n")

			p.refused(exitFailure, "no round announced", "pool", "open", "spring", "--round-file", filed(t, chain.File(7)))
			round := announced(t, p.ok("pool", "open", "spring"))
			require.Equal(t, round, announced(t, p.ok("pool", "open", "spring")), "it stays so")
			require.Contains(t, p.ok("pool", "show", "spring"), fmt.Sprintf("paused, mode (service's), revision 5, version 5, committed at version 4, opens with round %d at ", round))
			p.refused(exitFailure, "announced to open with round", "pool", "open", "spring", "--round-file", filed(t, chain.File(round+1)))
			p.refused(exitFailure, "the signature is not that of round", "pool", "open", "spring",
				"--round-file", filed(t, strings.Replace(chain.File(round+1), fmt.Sprint(round+1), fmt.Sprint(round), 1)))
			p.refused(exitFailure, "the text is not a round", "pool", "open", "spring", "--round-file", filed(t, "{}"))
			require.Equal(t, "pool spring is open\n", p.ok("pool", "open", "spring", "--seed-identity-file", identity, "--round-file", filed(t, chain.File(round))))

			s := p.serve("--seed-identity-file", identity, "--seed-recipients", recipients)
			for i := range 10 {
				s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
			}
			openOverHTTP(t, s, chain)
			openByServer(t, s, chain)
			for i := range 10 {
				s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("late-", i))
			}
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"paused"}`)
			require.Equal(t, exitOK, s.end().code)
			fetchRounds(t, p, chain)

			dir := filepath.Join(t.TempDir(), "proof")
			p.ok("pool", "close", "spring", "--reveal", "--seed-identity-file", identity)
			p.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
			outside := program{tb: t}
			require.Contains(t, outside.ok("verify", dir), "20 awards replayed from version 5 on, 4 openings\n")
			second(t, exitOK, dir)
			log, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
			require.NoError(t, err)
			require.Contains(t, string(log), fmt.Sprintf(`"kind":"opening","round":%d}`, round))
			require.Contains(t, string(log), fmt.Sprintf(`"kind":"open","round":%d,"signature":"%s"}`, round, chain.Sign(round)))
		})
	}
}

// openOverHTTP pauses the pool, moves its stock, and opens it with a new round.
func openOverHTTP(t *testing.T, s *service, chain *drand.Chain) {
	t.Helper()
	stocked := `{"delta":1,"reason":"more"}`
	require.Contains(t, s.admin(409, "POST", "/admin/pools/spring/prizes/gold/stock", stocked), "pool-open")
	require.Contains(t, s.admin(409, "PUT", "/admin/pools/spring/rules", `{}`), "pool-open")
	s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"paused"}`)
	s.admin(200, "POST", "/admin/pools/spring/prizes/gold/stock", stocked)
	var p struct {
		State   string
		Opening struct {
			Round int64
			At    time.Time
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"open"}`)), &p))
	require.Equal(t, "paused", p.State)
	require.False(t, p.Opening.At.IsZero())
	body := func(round int64, signature string) string {
		return fmt.Sprintf(`{"state":"open","round":%d,"signature":%q}`, round, signature)
	}
	round := p.Opening.Round
	require.Contains(t, s.admin(409, "PATCH", "/admin/pools/spring", body(round+1, chain.Sign(round+1))), "round-not-announced")
	require.Contains(t, s.admin(400, "PATCH", "/admin/pools/spring", body(round, chain.Sign(round+1))), "invalid-request")
	require.Contains(t, s.admin(400, "PATCH", "/admin/pools/spring", `{"state":"open","round":7}`), "belong together")
	opened := s.admin(200, "PATCH", "/admin/pools/spring", body(round, chain.Sign(round)))
	require.Contains(t, opened, `"state":"open"`)
	stands := commitmentOf(t, s)
	require.Equal(t, []any{"beacon", chain.Beacon(), "available"}, []any{stands.Level, stands.Beacon, stands.Seeds})
	require.Equal(t, round, stands.Opened.Round)
	require.Equal(t, chain.Sign(round), stands.Opened.Signature)
	require.Nil(t, stands.RoundsURL, "nobody knows where this chain is published")
	require.NotContains(t, opened, "opening")
}

// openByServer opens the pool by the command with --server.
func openByServer(t *testing.T, s *service, chain *drand.Chain) {
	t.Helper()
	far := program{tb: t}
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.token), 0o600))
	open := []string{"pool", "open", "spring", "--server", s.url, "--token-file", token}
	s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"paused"}`)
	round := announced(t, far.ok(open...))
	far.refused(exitFailure, "announced to open with round", append(open, "--round-file", filed(t, chain.File(round+1)))...)
	require.Equal(t, "pool spring is open\n", far.ok(append(open, "--round-file", filed(t, chain.File(round)))...))
}

// fetchRounds opens the pool by --fetch, from a beacon that is late once.
func fetchRounds(t *testing.T, p program, chain *drand.Chain) {
	t.Helper()
	var asked atomic.Int64
	handler := chain.Handler()
	beacon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(beacon.Close)
	before := time.Now()
	opened := p.run("pool", "open", "spring", "--fetch", "--beacon-url", beacon.URL+"/")
	require.Zero(t, opened.code, opened.message)
	require.Regexp(t, `^pool spring is open with round [0-9]+\n$`, opened.stdout)
	require.Regexp(t, `^waiting for round [0-9]+ at `, opened.stderr)
	require.EqualValues(t, 2, asked.Load())
	require.Greater(t, time.Since(before), time.Second, "two periods lie before the round, less the part of a second that has passed")
	require.Equal(t, "pool spring is open\n", p.ok("pool", "open", "spring", "--fetch", "--beacon-url", "http://127.0.0.1:1"), "it is open")
}
