package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// campaign has one gold and an endless blank.
const campaign = `{"id":"spring","name":"Spring","prizes":[
  {"id":"gold","name":"Gold","value":"19.90","stock":1},{"id":"none","name":"No luck","kind":"blank"}]}`

// members parses an answer.
func members(tb testing.TB, body string) (m map[string]any) {
	tb.Helper()
	require.NoError(tb, json.Unmarshal([]byte(body), &m), body)
	return m
}

// wins returns, for each award in the answer to a draw, whether it is a win.
func wins(tb testing.TB, body string) (all []bool) {
	tb.Helper()
	for _, a := range members(tb, body)["awards"].([]any) {
		all = append(all, a.(map[string]any)["win"].(bool))
	}
	return all
}

// TestCampaign tests losing tickets and limits over HTTP.
func TestCampaign(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		s := p.serve()
		made := members(t, s.admin(201, "POST", "/admin/pools", campaign))
		require.EqualValues(t, 0, made["rules"])
		set := members(t, s.admin(200, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","limits":[{"of":"draws","max":2}]}`))
		version := set["version"].(float64)
		again := members(t, s.admin(200, "PUT", "/admin/pools/spring/rules", `{"limits":[{"max":2,"of":"draws"}],"fallback":"none"}`))
		require.Equal(t, set, again, "the same document changes nothing")
		require.Equal(t, version, members(t, s.admin(200, "GET", "/admin/pools/spring", ""))["rules"])

		draws := func(user, key string, want int) string {
			t.Helper()
			status, body, err := s.draw("spring", user, key)
			require.NoError(t, err)
			require.Equal(t, want, status, body)
			return body
		}
		first := draws("u1", "first", 200)
		second := draws("u1", "second", 200)
		require.Equal(t, []bool{true, false}, append(wins(t, first), wins(t, second)...), "the urn holds one gold, and no blank")
		refused := members(t, draws("u1", "third", 409))
		require.Equal(t, "limit-reached", refused["code"])
		require.Equal(t, map[string]any{"of": "draws", "max": 2.0, "per": nil}, refused["limit"])
		require.Contains(t, refused, "retry_at")
		require.Nil(t, refused["retry_at"], "for ever")
		for i := range 5 {
			require.Equal(t, []bool{false}, wins(t, draws(fmt.Sprintf("later%d", i), "", 200)), "after gold everybody loses")
		}
		s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"paused"}`)
		for key, body := range map[string]string{"first": first, "second": second} {
			replay := draws("u1", key, 200)
			require.Equal(t, strings.Replace(body, `"replayed":false`, `"replayed":true`, 1), replay, "also a no-win")
		}

		status, body, err := s.ask("GET", "/pools/spring/users/u1", "")
		require.NoError(t, err)
		require.Equal(t, 200, status, body)
		require.JSONEq(t, `{"limits":[{"of":"draws","max":2,"per":null,"used":2,"left":0,"resets_at":null}],"misses":0,"guaranteed_in":null,"blocked":false}`, body)
		status, body, err = s.ask("GET", "/pools/spring/users/u1/awards", "")
		require.NoError(t, err)
		require.Equal(t, 200, status, body)
		require.Equal(t, []bool{true, false}, wins(t, body))
		require.Equal(t, []bool{false}, wins(t, s.admin(200, "GET", fmt.Sprintf("/pools/spring/users/u1/awards?limit=1&after=%d", int(version)+1), "")))
		metrics := s.admin(200, "GET", "/metrics", "")
		require.Contains(t, metrics, `drawsvc_draws_total{mode="for-update",outcome="blank"} 6`)
		require.Contains(t, metrics, `drawsvc_draws_total{mode="for-update",outcome="won"} 1`)
		require.Contains(t, []string{"8", "9", "10"}, sample(metrics, "drawsvc_users_looked_up_sum"), "one user for each draw that was new, and for replays from a copy that was out of date")
		require.Equal(t, exitOK, s.end().code)
		require.Contains(t, p.ok("audit", "--deep"), " 0 violations")
		_, err = rows(t, url).ExecContext(t.Context(), `UPDATE turns SET version = 1 WHERE user_id = 'u1' AND seq = 1`)
		require.NoError(t, err)
		o := p.run("audit")
		require.Equal(t, exitViolation, o.code)
		require.Contains(t, o.stdout, "turn-stray")
	})
}

// TestRedirectsFromOutside: prizes that were drawn and withheld are in the log, and in
// the metrics.
func TestRedirectsFromOutside(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,value=5,stock=9", "--prize", "id=none,kind=blank",
			"--rules", p.written("rules.json", `{"fallback":"none","limits":[{"of":"prize","prize":"gold","max":1}]}`))
		s := p.serve()
		for range 3 {
			status, body, err := s.draw("spring", "u1", "")
			require.NoError(t, err)
			require.Equal(t, 200, status, body)
		}
		entries := members(t, s.admin(200, "GET", "/admin/pools/spring/log", ""))["entries"].([]any)
		require.Len(t, entries, 7, "created, two stocks, rules and three awards")
		gold := entries[4].(map[string]any)
		require.NotContains(t, gold, "redirect")
		for _, e := range entries[5:] {
			require.Equal(t, map[string]any{"drawn": "gold", "why": "limit"}, e.(map[string]any)["redirect"])
			require.Equal(t, "none", e.(map[string]any)["prize"])
		}
		metrics := s.admin(200, "GET", "/metrics", "")
		require.Contains(t, metrics, `drawsvc_redirects_total{why="limit"} 2`)
		require.Contains(t, metrics, `drawsvc_redirects_total{why="budget"} 0`)
	})
}

// written writes a file for a command.
func (p program) written(name, text string) string {
	p.tb.Helper()
	path := filepath.Join(p.tb.TempDir(), name)
	require.NoError(p.tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestRulesOverHTTP tests versions, tags, and refusals.
func TestRulesOverHTTP(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve()
	s.admin(201, "POST", "/admin/pools", strings.Replace(campaign, `"prizes"`, `"rules":{"fallback":"none"},"prizes"`, 1))
	first := members(t, s.admin(200, "GET", "/admin/pools/spring/rules", ""))
	require.Equal(t, map[string]any{"fallback": "none"}, first["rules"])

	put := func(tag, document string) (int, string) {
		status, body, err := s.ask("PUT", "/admin/pools/spring/rules", document, "Authorization", "Bearer "+s.token, "If-Match", tag)
		require.NoError(t, err)
		return status, body
	}
	status, body := put(`"1"`, `{}`)
	require.Equal(t, 412, status, body)
	require.Equal(t, "rules-changed", members(t, body)["code"])
	status, body = put(fmt.Sprintf(`"%v"`, first["version"]), `{"fallback":"none","win":"1/4","disclose":true}`)
	require.Equal(t, 200, status, body)
	require.Contains(t, s.admin(400, "PUT", "/admin/pools/spring/rules", "{\n\"fallback\":\"gold\"}"), `not an endless blank (line 2, column 1)`)
	require.Contains(t, s.admin(400, "POST", "/admin/pools/spring/rules", "{\n\"fallback\":\"non\"}"), `did you mean \"none\"? (line 2, column 1)`)
	require.Contains(t, s.admin(400, "POST", "/admin/pools/spring/simulation", "{\n\"fallback\":\"gold\"}"), `not an endless blank (line 2, column 1)`)
	require.JSONEq(t, s.admin(200, "GET", fmt.Sprintf("/admin/pools/spring/rules?version=%v", first["version"]), ""),
		mustJSON(t, first), "a version's rules stay")

	odds := s.admin(200, "GET", "/pools/spring/odds", "")
	require.JSONEq(t, `{"version":`+fmt.Sprint(members(t, body)["version"])+`,"law":"stock","win":"1/4",
		"odds":[{"prize":"gold","chance":"1/4"}],"none":"3/4","guarantee":null}`, odds)
	require.JSONEq(t, odds, s.admin(200, "GET", "/admin/pools/spring/odds?user=u1", ""))
	require.JSONEq(t, odds, p.ok("odds", "--pool", "spring", "--user", "u1", "--output", "json"))
	require.Equal(t, "user-not-counted", members(t, s.admin(409, "GET", "/pools/spring/users/u1", ""))["code"])
	require.Equal(t, "user-not-counted", members(t, s.admin(409, "GET", "/pools/spring/users/u1/awards", ""))["code"])

	s.admin(200, "PUT", "/admin/pools/spring/rules", `{"blocked":["u7"]}`)
	require.Equal(t, "user-blocked", members(t, s.admin(200, "GET", "/admin/pools/spring/odds?user=u7", ""))["refused"])
	require.Equal(t, "user-blocked", members(t, s.admin(409, "POST", "/draw", `{"pool":"spring","user":"u7"}`))["code"])
	require.Equal(t, "not-found", members(t, s.admin(404, "GET", "/pools/spring/odds", ""))["code"], "not disclosed")
	require.Nil(t, members(t, s.admin(200, "DELETE", "/admin/pools/spring/rules", ""))["rules"])
	for _, method := range []string{"GET", "DELETE"} {
		require.Equal(t, "not-found", members(t, s.admin(404, method, "/admin/pools/spring/rules", ""))["code"])
	}
	require.Equal(t, "pool-not-found", members(t, s.admin(404, "GET", "/pools/winter/odds", ""))["code"])
	s.admin(400, "POST", "/admin/pools/spring/prizes/none/stock", `{"delta":1,"reason":"x"}`)
	require.Contains(t, s.admin(201, "POST", "/admin/pools/spring/prizes", `{"id":"nil","name":"Nil","kind":"blank"}`), `"remaining":null`)
	require.JSONEq(t, s.admin(200, "GET", "/admin/pools/spring", ""), p.ok("pool", "show", "spring", "--output", "json"))
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	b, err := json.Marshal(v)
	require.NoError(tb, err)
	return string(b)
}

// TestRulesCommands tests rules show, check, set and remove.
func TestRulesCommands(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := spring(t, url)
		good, bad := p.written("good.json", `{"limits":[{"of":"draws","max":2,"per":"day"}]}`), p.written("bad.json", "{\n\"fallback\":\"gold\"}")
		p.refused(exitFailure, `pool "spring" has no such rules`, "rules", "show", "--pool", "spring")
		require.Contains(t, p.ok("rules", "check", "--pool", "spring", good), "pool spring: the rules fit, sha256 ")
		p.refused(exitFailure, "not an endless blank (line 2, column 1)", "rules", "check", "--pool", "spring", bad)
		p.refused(exitFailure, "not an endless blank (line 2, column 1)", "rules", "set", "--pool", "spring", bad)
		p.refused(exitFailure, `pool "spring" has no such rules`, "rules", "show", "--pool", "spring")
		p.refused(exitFailure, `there is no pool "winter"`, "rules", "set", "--pool", "winter", good)
		require.Contains(t, p.ok("rules", "set", "--pool", "spring", "--actor", "ann", good), "pool spring: the rules are of version 4, sha256 ")
		shown := p.ok("rules", "show", "--pool", "spring")
		require.Regexp(t, `^pool spring, rules of version 4, by ann at 20\S+Z\n\nEach draw [^\n]*\nEach user draws at most twice a day\.\n[^{]*\n\n\{"limits":\[\{"of":"draws","max":2,"per":"day"\}\]\}\n$`, shown)
		require.Equal(t, map[string]any{"limits": []any{map[string]any{"of": "draws", "max": 2.0, "per": "day"}}},
			members(t, p.ok("rules", "show", "--pool", "spring", "--version", "4", "--output", "json"))["rules"])
		require.Contains(t, p.ok("pool", "show", "spring"), "version 4, rules of version 4\n")
		require.Equal(t, "pool spring has no rules from version 5 on\n", p.ok("rules", "remove", "--pool", "spring"))
		p.refused(exitFailure, "has no rules", "rules", "remove", "--pool", "spring")
		require.Contains(t, p.ok("rules", "show", "--pool", "spring", "--version", "5"), "removed")
		require.Equal(t, `pool spring at version 5, law stock, win 1/1

prize   chance  percent
gold    1/10    10.0000 %
silver  9/10    90.0000 %
(none)  0/1     0.0000 %
`, p.ok("odds", "--pool", "spring"))
	})
}

// TestBlanksOnTheCommandLine: the commands create blanks with and without stock, also
// from a file.
func TestBlanksOnTheCommandLine(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		require.Equal(t, "pool spring created (open): prizes 3, units 12\n", p.ok("pool", "create", "spring",
			"--prize", "id=gold,stock=10", "--prize", "id=lost,kind=blank,stock=2", "--prize", "id=none,kind=blank"))
		p.refused(exitUsage, "kind of prize", "prize", "add", "--pool", "spring", "--prize", "id=x,kind=nil,stock=1")
		require.Contains(t, p.ok("pool", "show", "spring"), "none   0.00   endless  0       endless    none (blank)\n")
		require.Contains(t, p.ok("pool", "list"), "  12       0       12         spring\n")

		p.stdin = "prize,name,value,stock,kind\nlost,,,3,blank\nnone,,,,blank\nnil,Nil,,,blank\ntin,Tin,1,4,\n"
		require.Equal(t, "pool spring: prizes added 2, restocked 1; units put in 7 (version 7)\n", p.ok("stock", "import", "--pool", "spring", "--key", "k", "-"))
		require.Contains(t, p.ok("stock", "import", "--pool", "spring", "--key", "k", "-"), "units put in 7 (version 7); this key was used already")
		p.stdin = strings.Replace(p.stdin, "nil,Nil,,,blank", "nil,Nil,,,", 1)
		p.refused(exitFailure, "line 4: stock is missing: give a number of units", "stock", "import", "--pool", "spring", "-")
		for line, says := range map[string]string{
			"gold,,,1,blank":   `line 2: prize "gold" has the kind prize in the pool`,
			"lost,,,1,prize":   `line 2: prize "lost" has the kind blank in the pool`,
			"none,,,5,":        `line 2: prize "none" is a blank of the pool`,
			"lost,,,,blank":    `line 2: prize "lost" is a blank of the pool`,
			"new,New,1,,blank": "value of blank",
			"new,New,,1,nil":   "kind must be prize, blank or empty",
		} {
			p.stdin = "prize,name,value,stock,kind\n" + line + "\n"
			p.refused(exitFailure, says, "stock", "import", "--pool", "spring", "-")
		}
		require.Contains(t, p.ok("audit"), " 0 violations")
	})
}

// TestSimulate: from a pool and from a file, the same seed gives the same run.
func TestSimulate(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("migrate", "up")
	config := p.written("pool.json", `{"id":"spring","name":"Spring","rules":{"fallback":"none","win":"1/50","budget":{"max":"30.00"}},
		"prizes":[{"id":"gold","name":"Gold","value":"5.00","stock":10},{"id":"tin","name":"Tin","stock":990},{"id":"none","name":"N","kind":"blank"}]}`)
	args := []string{"simulate", "--config", config, "--draws", "20000", "--users", "100", "--from", "2026-12-01T00:00:00Z", "--output", "json"}
	printed := p.ok(args...)
	require.Equal(t, printed, p.ok(args...))
	require.NotEqual(t, printed, p.ok(append(args, "--seed", "2")...))
	var got api.Simulated
	require.NoError(t, json.Unmarshal([]byte(printed), &got))
	require.EqualValues(t, 20000, got.Draws)
	require.Len(t, got.Prizes, 3)
	require.LessOrEqual(t, got.Prizes[0].Count, int64(6), "the budget pays for six")
	require.Equal(t, fmt.Sprintf("%d.00", 5*got.Prizes[0].Count), got.Spent)
	require.Regexp(t, `(?m)^none +\d+ +0\.9\d+`, p.ok("simulate", "--config", config, "--draws", "20000"))

	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=100", "--prize", "id=none,kind=blank",
		"--rules", p.written("rules.json", `{"fallback":"none","odds":{"of":10,"prizes":{"gold":1}},"limits":[{"of":"draws","max":1}]}`))
	before := p.ok("log", "--pool", "spring")
	printed = p.ok("simulate", "--pool", "spring", "--draws", "1000", "--users", "10")
	require.Contains(t, printed, "\ndraws 10\nrefused, ", "nothing of a budget, where there is none")
	require.Contains(t, printed, "refused, limit-reached: 990\n")
	require.Equal(t, before, p.ok("log", "--pool", "spring"), "nothing is written")

	for _, bad := range [][]string{
		{"simulate"}, {"simulate", "--pool", "spring", "--config", config}, {"simulate", "--pool", "spring", "--draws", "0"},
		{"simulate", "--pool", "spring", "--rate", "0/s"}, {"simulate", "--pool", "spring", "--rate", "5/d"}, {"simulate", "--pool", "spring", "--from", "now"},
	} {
		p.refused(exitUsage, "", bad...)
	}
	p.refused(exitFailure, "prizes is missing", "simulate", "--config", p.written("bad.json", `{"id":"a"}`))
}

// TestSimulationIsJudged: a share that chance does not explain is a violation.
func TestSimulationIsJudged(t *testing.T) {
	t.Parallel()
	z := func(z float64) *odds.Simulated {
		return &odds.Simulated{Prizes: []odds.SimulatedPrize{{}, {Z: &z}}}
	}
	require.False(t, api.ShowSimulated(z(4.9)).Unlikely)
	require.True(t, api.ShowSimulated(z(5.1)).Unlikely)
	require.True(t, api.ShowSimulated(z(-5.1)).Unlikely)
	require.True(t, api.ShowSimulated(&odds.Simulated{Guarantee: &odds.SimulatedGuarantee{Z: -6}}).Unlikely)
	require.Equal(t, exitViolation, exitCode(errUnlikely))
}
